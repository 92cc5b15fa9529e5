// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file bucket_row.c  See bucket_row.h. */
#include "keep/bucket_row.h"

#include "keep/sql.h"

#include <errno.h>

void bucket_row_bind(sqlite3_stmt *s, const struct bucket *bucket, const char *windows)
{
    sql_bind_u64(s, 1, bucket->records);
    sql_bind_u64(s, 2, bucket->period_ms);
    sql_bind_u64(s, 3, bucket->ram_bytes);
    sql_bind_u64(s, 4, bucket->resident_max_bytes);
    sqlite3_bind_double(s, 5, bucket->resident);
    sqlite3_bind_double(s, 6, bucket->unmeasurable);
    sqlite3_bind_double(s, 7, bucket->vcpu_s);
    sqlite3_bind_double(s, 8, bucket->cpu_s);
    sqlite3_bind_double(s, 9, bucket->paused_s);
    sqlite3_bind_double(s, 10, bucket->precision);
    sql_bind_text(s, 11, bucket->method);
    sql_bind_text(s, 12, bucket->flags);
    sql_bind_text(s, 13, windows);
}

/* Of bytes and of seconds alike: what can be cast to an integer, and never was more. */
#define MOST 1e18

static int read_numbers(sqlite3_stmt *s, int first, struct bucket *bucket)
{
    uint64_t *const whole[] = {&bucket->records, &bucket->period_ms, &bucket->ram_bytes,
                               &bucket->resident_max_bytes};
    double *const real[] = {&bucket->resident, &bucket->unmeasurable, &bucket->vcpu_s,
                            &bucket->cpu_s,    &bucket->paused_s,     &bucket->precision};

    for (int i = 0; i < 4; i++)
        if (sql_u64(s, first + i, whole[i]) < 0)
            return -EUCLEAN;
    for (int i = 0; i < 6; i++)
        if (sql_double(s, first + 4 + i, real[i]) < 0 || *real[i] < 0 || *real[i] > MOST)
            return -EUCLEAN;
    return bucket->records > 0 && bucket->period_ms > 0 ? 0 : -EUCLEAN;
}

int bucket_row_read(sqlite3_stmt *s, int first, struct bucket *bucket, double only)
{
    bucket_clear(bucket);
    if (read_numbers(s, first, bucket) < 0 ||
        sql_text(s, first + 10, bucket->method, sizeof(bucket->method)) < 0 ||
        sql_text(s, first + 11, bucket->flags, sizeof(bucket->flags)) < 0 ||
        sqlite3_column_type(s, first + 12) != SQLITE_TEXT)
        return -EUCLEAN;

    const char *windows = (const char *)sqlite3_column_text(s, first + 12);

    if (!windows)
        return -EUCLEAN;
    return bucket_windows_parse(bucket, windows, (size_t)sqlite3_column_bytes(s, first + 12), only);
}
