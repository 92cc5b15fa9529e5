// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/size.h"

#include "base/array.h"
#include "history/event.h"
#include "history/open_store.h"
#include "history/sql.h"

#include <stdbool.h>

#define TURNS 20
/* Deletes down to this share of the limit, so that not every record causes deleting. */
#define SLACK 0.95

/* Keeps the last 100 minutes, which store_retention_check() guarantees. */
#define OLDEST                                                                       \
    "(SELECT id FROM sample WHERE time_ms < (SELECT time_ms FROM sample ORDER BY id" \
    " DESC LIMIT 1) - 6000000 ORDER BY id LIMIT 5000)"
#define OLDEST_BUCKETS(table, level)                                        \
    "DELETE FROM " table " WHERE level_s = " level                          \
    " AND start_s <= (SELECT max(start_s) FROM (SELECT start_s FROM " table \
    " WHERE level_s = " level " ORDER BY start_s LIMIT 5000))"

/* The steps in order: all rows of one step are deleted before rows of the next. Each delete is a
 * transaction. */
static const char *const steps[] = {
    /* Keeps the last event of each guest, which shows whether it has ended. */
    "DELETE FROM event WHERE id IN (SELECT e.id FROM event e WHERE e.id < (SELECT max(id) FROM"
    " event) - 100000 AND e.id < coalesce((SELECT max(l.id) FROM event l WHERE l.guest_id ="
    " e.guest_id AND l.kind IN " EVENT_RUN_KINDS "), e.id + 1)"
    " ORDER BY e.id LIMIT 5000)",
    "BEGIN; DELETE FROM own_set WHERE sample_id IN " OLDEST
    "; DELETE FROM word WHERE sample_id IN " OLDEST "; DELETE FROM sample WHERE id IN " OLDEST
    "; COMMIT",
    "DELETE FROM write_set WHERE (guest_id, time_ms) IN (SELECT guest_id, time_ms FROM write_set"
    " ORDER BY time_ms LIMIT 5000)",
    OLDEST_BUCKETS("word_bucket", "60"),
    OLDEST_BUCKETS("bucket", "60"),
    OLDEST_BUCKETS("host_need", "60"),
    OLDEST_BUCKETS("word_bucket", "3600"),
    OLDEST_BUCKETS("bucket", "3600"),
    OLDEST_BUCKETS("host_need", "3600"),
    OLDEST_BUCKETS("host_minutes", "3600"),
};

/* Computes the bytes that are not in the list of free pages. */
static int used_bytes(struct store *store, double *used, double *file, struct error *error)
{
    int64_t pages = 0;
    int64_t free_pages = 0;
    int rc = sql_run_i64(store, "PRAGMA page_count", &pages, error);

    if (rc == 0)
        rc = sql_run_i64(store, "PRAGMA freelist_count", &free_pages, error);
    *used = (double)(pages - free_pages) * (double)store->page_bytes;
    *file = (double)pages * (double)store->page_bytes;
    return rc;
}

/* Returns false if there was nothing to delete. */
static bool delete_oldest(struct store *store, size_t step, int *rc, struct error *error)
{
    int64_t before = sqlite3_total_changes(store->db);

    *rc = sql_run(store, steps[step], error);
    if (*rc < 0 && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return sqlite3_total_changes(store->db) != before;
}

int size_fit(struct store *store, uint64_t max_bytes, struct error *error)
{
    double used;
    double file;
    size_t step = 0;
    int rc = used_bytes(store, &used, &file, error);

    if (rc < 0 || file <= (double)max_bytes)
        return rc;
    for (int turn = 0;
         rc == 0 && turn < TURNS && step < COUNT(steps) && used > SLACK * (double)max_bytes;
         turn++) {
        if (!delete_oldest(store, step, &rc, error))
            step++;
        else if (rc == 0)
            rc = used_bytes(store, &used, &file, error);
    }
    return rc == 0 ? sql_run(store, "PRAGMA incremental_vacuum(10000)", error) : rc;
}
