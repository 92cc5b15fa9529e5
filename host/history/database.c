// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/database.h"

#include "base/cleanup.h"
#include "history/limit.h"
#include "history/open_store.h"
#include "history/quarantine.h"
#include "history/sql.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_MS 2000
#define VALUE_MAX_BYTES (1 << 20)

static void distrust(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    sqlite3_drop_modules(db, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
}

/* Returns "file:PATH?immutable=1" (https://www.sqlite.org/uri.html). */
static char *immutable_uri(const char *path)
{
    size_t size = 3 * strlen(path) + 32;
    char *uri = malloc(size);
    size_t n = 0;

    if (!uri)
        return NULL;
    n += (size_t)snprintf(uri, size, "file:");
    for (const char *c = path; *c; c++)
        n += (size_t)snprintf(uri + n, size - n, strchr("?#%", *c) ? "%%%02X" : "%c",
                              (unsigned char)*c);
    snprintf(uri + n, size - n, "?immutable=1");
    return uri;
}

/* Resolves symbolic links in the path's directory, but not in its last part, because SQLite refuses
 * links in any part. Returns NULL with errno. */
static char *resolve_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    cleanup_free char *dir = slash ? strndup(path, (size_t)(file - path)) : strdup(".");
    cleanup_free char *real = dir ? realpath(dir, NULL) : NULL;
    size_t size = real ? strlen(real) + strlen(file) + 2 : 0;
    char *resolved = real ? malloc(size) : NULL;

    if (resolved)
        snprintf(resolved, size, "%s/%s", real, file);
    return resolved;
}

/* Sets the name under which SQLite opens the file, and the flag for it; returns 0 or a negative
 * errno. */
static int name_for_sqlite(const char *path, int *flags, char **name)
{
    cleanup_free char *resolved = NULL;
    bool follow = file_follows_links();

    errno = ENOMEM;
    resolved = follow ? strdup(path) : resolve_directory(path);
    if (!resolved)
        return -errno;
    *flags |= follow ? 0 : SQLITE_OPEN_NOFOLLOW;
    *name = *flags & SQLITE_OPEN_URI ? immutable_uri(resolved) : strdup(resolved);
    return *name ? 0 : -ENOMEM;
}

int database_connect(sqlite3 **db, const char *path, int flags, struct read_limit *limit,
                     struct error *error)
{
    cleanup_free char *name = NULL;
    int rc = name_for_sqlite(path, &flags, &name);

    if (rc < 0)
        return error_set(error, rc, "%s: %s", path, strerror(-rc));

    int result = sqlite3_open_v2(name, db, flags | SQLITE_OPEN_EXRESCODE, NULL);

    if (result == SQLITE_CANTOPEN_SYMLINK)
        return file_refuse_link(path, error);
    if (result == SQLITE_OK) {
        distrust(*db);
        if (limit)
            read_limit_begin(limit, *db, path);
        sqlite3_busy_timeout(*db, BUSY_MS);
        /* SQLite finds damaged cells before it uses them. The file is never mapped, because
         * truncating a mapped file causes SIGBUS. */
        result = sqlite3_exec(*db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL, NULL,
                              NULL);
        /* Readers go guest by guest through pages that hold all guests: with the default of 2 MB
         * a report of a week of 100 guests reads each page 15 times. */
        if (result == SQLITE_OK && flags & SQLITE_OPEN_READONLY)
            result = sqlite3_exec(*db, "PRAGMA cache_size = -16000", NULL, NULL, NULL);
    }
    if (limit && limit->spent)
        return read_limit_refuse(path, error);
    return result == SQLITE_OK ? 0 : sql_error_of(*db, path, result, error);
}

int database_open(struct store *store, int flags, struct error *error)
{
    struct read_limit *limit = flags & SQLITE_OPEN_READONLY ? &store->limit : NULL;

    return database_connect(&store->db, store->path, flags, limit, error);
}

void database_close(struct store *store)
{
    adding_free(store->adding);
    store->adding = NULL;
    host_sum_free(store->sum);
    store->sum = NULL;
    sqlite3_close(store->db);
    store->db = NULL;
}
