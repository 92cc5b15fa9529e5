// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/bucket_row.h"

#include "history/columns.h"
#include "history/sql.h"

#include <errno.h>

/* The bucket's own columns, followed by the summary of its records. */
#define OWN "records, period_ms, resident_max_bytes, windows"
#define N_OWN 4

static void append_columns(struct sql_text *sql)
{
    sql_append(sql, OWN);
    columns_append(sql, sample_fields(), HOME_SUMMARY, ", #");
}

int bucket_row_prepare(struct store *store, const char *first, const char *rest,
                       sqlite3_stmt **statement, struct error *error)
{
    struct sql_text sql = {0};

    sql_append(&sql, "SELECT ");
    sql_append(&sql, first);
    append_columns(&sql);
    sql_append(&sql, " FROM bucket");
    sql_append(&sql, rest);
    return sql_prepare(store, sql.text, statement, error);
}

int bucket_row_prepare_write(struct store *store, sqlite3_stmt **statement, struct error *error)
{
    struct sql_text sql = {0};

    sql_append(&sql, "INSERT OR REPLACE INTO bucket(");
    append_columns(&sql);
    sql_append(&sql, ", level_s, start_s, guest_id) VALUES (?, ?, ?, ?");
    columns_append(&sql, sample_fields(), HOME_SUMMARY, ", ?");
    sql_append(&sql, ", ?, ?, ?)");
    return sql_prepare(store, sql.text, statement, error);
}

int bucket_row_bind(sqlite3_stmt *s, const struct bucket *bucket, const char *windows)
{
    sql_bind_u64(s, 1, bucket->records);
    sql_bind_u64(s, 2, bucket->period_ms);
    sql_bind_u64(s, 3, bucket->resident_max_bytes);
    sql_bind_text(s, 4, windows);
    return columns_bind_summary(s, N_OWN + 1, &bucket->summary);
}

int bucket_row_read(sqlite3_stmt *s, int first, struct bucket *bucket, double only)
{
    const char *windows;

    bucket_clear(bucket);
    if (sql_u64(s, first, &bucket->records) < 0 || sql_u64(s, first + 1, &bucket->period_ms) < 0 ||
        sql_u64(s, first + 2, &bucket->resident_max_bytes) < 0 || bucket->records == 0 ||
        bucket->period_ms == 0 || columns_read_summary(s, first + N_OWN, &bucket->summary) < 0 ||
        sqlite3_column_type(s, first + 3) != SQLITE_TEXT)
        return -EUCLEAN;
    windows = (const char *)sqlite3_column_text(s, first + 3);
    if (!windows)
        return -EUCLEAN;
    return bucket_windows_parse(bucket, windows, (size_t)sqlite3_column_bytes(s, first + 3), only);
}
