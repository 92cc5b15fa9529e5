// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/wal.h"

#include "history/open_store.h"
#include "history/sql.h"

#include <errno.h>

#define CHECKPOINT_PAGES 1000 /* SQLite's own default */

/* Pages that could not be copied back are needed by a reader. If all were copied, the next
 * transaction reuses the WAL from its start. */
static int copy_back(struct store *store)
{
    int pages = 0;
    int copied = 0;
    int result = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages,
                                           &copied);

    if (result == SQLITE_OK && pages >= 0)
        store->wal_held_pages = copied < pages ? (uint64_t)pages : 0;
    return result;
}

static int after_commit(void *context, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    if (pages >= CHECKPOINT_PAGES)
        copy_back(context);
    return SQLITE_OK;
}

void wal_begin(struct store *store)
{
    store->wal_max_bytes = WAL_MAX_BYTES;
    store->page_bytes = 4096;
    sql_run_i64(store, "PRAGMA page_size", &store->page_bytes, NULL);
    sqlite3_wal_hook(store->db, after_commit, store);
}

int wal_checkpoint(struct store *store, struct error *error)
{
    int result = copy_back(store);

    /* BUSY means that another process runs a checkpoint now, which suffices. */
    return result == SQLITE_OK || (result & 0xff) == SQLITE_BUSY ? 0
                                                                 : sql_error(store, result, error);
}

uint64_t wal_held_bytes(const struct store *store)
{
    return store->wal_held_pages * (uint64_t)store->page_bytes;
}

int wal_check(struct store *store, struct error *error)
{
    if (wal_held_bytes(store) < store->wal_max_bytes)
        return 0;
    copy_back(store);
    if (wal_held_bytes(store) < store->wal_max_bytes)
        return 0;
    return error_set(
        error, -EBUSY,
        "%s: its WAL has grown to %llu MiB, as a reader does not finish; end it (fuser "
        "-v %s-shm)",
        store->path, (unsigned long long)(wal_held_bytes(store) >> 20), store->path);
}
