// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file store.c  See store.h: opens, checks and quarantines a database. */
#include "history/store.h"

#include "history/database.h"
#include "history/open_store.h"
#include "history/quarantine.h"
#include "history/schema.h"
#include "history/sql.h"
#include "history/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Configures a database. In a new file, auto_vacuum and application_id must be set before the
 * journal mode:
 *   auto_vacuum     pages that shorter retention frees can be given back
 *   WAL             readers do not wait for the writer, nor it for them
 *   synchronous     see store.h; NORMAL syncs at each checkpoint
 *   journal_size_limit  a reader that kept a checkpoint from finishing leaves no large
 *                       WAL behind */
static int prepare_file(struct store *store, enum file_kind kind, struct error *error)
{
    char identify[64];
    int rc = 0;

    if (kind == FILE_NEW) {
        snprintf(identify, sizeof(identify), "PRAGMA application_id = %d", SCHEMA_APPLICATION_ID);
        rc = sql_run(store, "PRAGMA auto_vacuum = INCREMENTAL", error);
        if (rc == 0)
            rc = sql_run(store, identify, error);
    }
    if (rc == 0)
        rc = sql_run(store,
                     "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                     "PRAGMA journal_size_limit = 8388608",
                     error);
    return rc;
}

/* The WAL stays when the writer ends: a reader without write permission for the directory could not
 * make one. */
static void keep_wal(struct store *store)
{
    int yes = 1;

    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_PERSIST_WAL, &yes);
}

static int refuse_file(const char *path, struct error *error)
{
    return error_set(error, -EINVAL,
                     "%s: is not a history of vmwss: move it away, or name another file", path);
}

/* SQLite would create the file with mode 0644, and it contains names of guests' processes. The WAL
 * takes the file's mode. If this fails, SQLite reports the reason. */
static void make_private(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);

    if (fd >= 0)
        close(fd);
}

static int open_file(struct store *store, bool check, struct error *error)
{
    enum file_kind kind;
    int rc = file_identify(store->path, &kind, error);

    if (rc < 0)
        return rc;
    if (kind == FILE_OTHER)
        return refuse_file(store->path, error);
    if (kind == FILE_NO_DATABASE)
        return error_set(error, -EUCLEAN, "%s: is no database", store->path);
    if (kind == FILE_NEW)
        make_private(store->path);
    store->left_open = store_has_wal(store); /* a writer that ends properly leaves none */
    rc = database_open(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error);
    if (rc < 0)
        return rc;
    rc = prepare_file(store, kind, error);
    keep_wal(store);
    wal_begin(store);
    if (rc == 0 && kind != FILE_NEW && check)
        rc = store_check(store, NULL, NULL, error);
    if (rc == 0)
        rc = schema_make(store, error);
    return rc == 0 ? schema_verify(store, error) : rc;
}

/* Renaming another program's file would be worse than not recording. */
static bool may_quarantine(const char *path)
{
    enum file_kind kind;
    size_t n = strlen(path);

    if (file_identify(path, &kind, NULL) < 0)
        return false;
    return kind == FILE_OURS ||
           (kind == FILE_NO_DATABASE && n > 3 && strcmp(path + n - 3, ".db") == 0);
}

static int begin_anew(struct store *store, struct error *error)
{
    struct error damage = *error;
    char name[4096];
    int rc;

    if (!may_quarantine(store->path))
        return refuse_file(store->path, error);
    database_close(store);
    rc = file_quarantine(store->path, name, sizeof(name), error);
    if (rc == 0)
        rc = open_file(store, false, error);
    if (rc == 0)
        snprintf(store->notice, sizeof(store->notice), "%s; set aside as %s, a new one is begun",
                 damage.text, name);
    return rc;
}

static int open_store(const char *path, bool check, struct store **out, struct error *error)
{
    struct store *store = store_new(path, error);
    struct error local = {0};
    int rc;

    if (!store)
        return -ENOMEM;
    rc = open_file(store, check, &local);
    if (rc == -EUCLEAN)
        rc = begin_anew(store, &local);
    if (rc < 0) {
        store_close(store);
        return error_set(error, rc, "%s", local.text);
    }
    *out = store;
    return 0;
}

int store_open(const char *path, struct store **out, struct error *error)
{
    return open_store(path, true, out, error);
}

int store_open_unchecked(const char *path, struct store **out, struct error *error)
{
    return open_store(path, false, out, error);
}

bool store_was_left_open(const struct store *store)
{
    return store->left_open;
}

const char *store_notice(const struct store *store)
{
    return store->notice;
}

struct store *store_new(const char *path, struct error *error)
{
    struct store *store = calloc(1, sizeof(*store));

    if (store)
        store->path = strdup(path);
    if (store && store->path)
        return store;
    free(store);
    error_set(error, -ENOMEM, "%s: out of memory", path);
    return NULL;
}

bool store_has_wal(const struct store *store)
{
    char wal[4096];
    struct stat st;

    snprintf(wal, sizeof(wal), "%s-wal", store->path);
    return stat(wal, &st) == 0 && st.st_size > 0;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    database_close(store);
    free(store->path);
    free(store);
}
