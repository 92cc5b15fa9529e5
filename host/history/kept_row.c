// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/kept_row.h"

#include "history/columns.h"
#include "history/open_store.h"
#include "history/schema.h"
#include "history/sql.h"
#include "history/store.h"

#include <errno.h>
#include <string.h>

#define OWNER_COLUMNS 2 /* the manager, and its name for the guest */

int kept_row_prepare(struct store *store, const char *more, const char *from,
                     sqlite3_stmt **statement, struct error *error)
{
    struct sql_text sql = {0};
    const int has_owner = schema_has(store, "owner", error);

    if (has_owner < 0)
        return has_owner;
    sql_append(&sql, "SELECT s.id");
    columns_append(&sql, sample_fields(), HOME_GUEST, ", g.#");
    columns_append(&sql, sample_fields(), HOME_OWNER,
                   has_owner ? ", (SELECT # FROM owner WHERE guest_id = g.id)" : ", NULL");
    columns_append(&sql, sample_fields(), HOME_SAMPLE, ", s.#");
    columns_append(&sql, guest_stats_fields(), HOME_GUEST_STATS, ", w.#");
    columns_append(&sql, guest_stats_fields(), HOME_OWN_SET, ", o.#");
    sql_append(&sql, more);
    sql_append(&sql, from);
    return sql_prepare(store, sql.text, statement, error);
}

/* Sets all fields to 0 if there is no row: the guest was not queried. */
static int read_guest_stats(sqlite3_stmt *statement, int first, struct guest_stats *stats)
{
    if (sqlite3_column_type(statement, first) == SQLITE_NULL)
        return 0;
    first = columns_read(statement, first, guest_stats_fields(), HOME_GUEST_STATS, stats);
    if (first < 0)
        return first;
    return columns_read(statement, first, guest_stats_fields(), HOME_OWN_SET, stats);
}

/* A guest without a known manager has no row. */
static int read_owner(sqlite3_stmt *statement, int first, struct kept_sample *kept)
{
    if (sqlite3_column_type(statement, first) == SQLITE_NULL)
        return first + OWNER_COLUMNS;
    return columns_read(statement, first, sample_fields(), HOME_OWNER, kept);
}

int kept_row_read(sqlite3_stmt *statement, struct kept_sample *kept)
{
    const struct field *fields = sample_fields();
    int next = 1;

    memset(kept, 0, sizeof(*kept));
    if (sql_i64(statement, 0, &kept->id) < 0 ||
        (next = columns_read(statement, next, fields, HOME_GUEST, kept)) < 0 ||
        (next = read_owner(statement, next, kept)) < 0 ||
        (next = columns_read(statement, next, fields, HOME_SAMPLE, kept)) < 0 ||
        kept->period_s <= 0 || kept->period_s > STORE_PERIOD_MAX_S ||
        read_guest_stats(statement, next, &kept->record.sample.guest) < 0)
        return -EUCLEAN;
    return 0;
}

int kept_row_next(struct store *store, sqlite3_stmt *statement, struct kept_sample *kept,
                  struct error *error)
{
    int rc = sql_step(store, statement, error);

    if (rc != 1)
        return rc;
    if (kept_row_read(statement, kept) < 0)
        return sql_invalid(store, "a record", error);
    return 1;
}
