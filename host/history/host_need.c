// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file host_need.c  See host_need.h: chooses the minutes to add up. */
#include "history/host_need.h"

#include "history/bucket_need.h"
#include "history/host_sum.h"
#include "history/open_store.h"
#include "history/rollup.h"
#include "history/sql.h"

#include <math.h>
#include <stdio.h>

/* A minute is final after this time, even if records cover more. It is below the shortest retention
 * of minutes (store_retention_check()). */
#define REACH_MAX_S (96 * 3600.0)
/* At most this many guests times minutes are added up again in one transaction, which takes 0.3
 * s. */
#define WORK_MAX 20000
#define DAY_S 86400

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Finds the longest period of the records that may cover the time when the writer started. A record
 * longer than an hour is in the sum of its hour; the others are in the last hour. */
static int find_longest(struct store *store, int64_t around_s, struct error *error)
{
    static const struct {
        int level_s;
        double back_s;
        const char *has_long; /* SQL that finds a long record among short ones */
    } levels[] = {
        {BUCKET_MINUTE, 1.1 * BUCKET_HOUR, "period_ms > 60000 * records"},
        {BUCKET_HOUR, REACH_MAX_S + BUCKET_HOUR, "period_ms > 3960000"},
    };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < 2; i++) {
        int64_t longest_ms = 0;
        char sql[256];

        snprintf(sql, sizeof(sql),
                 "SELECT coalesce(max(CASE WHEN %s THEN period_ms ELSE period_ms / records END), 0)"
                 " FROM bucket WHERE level_s = %d AND start_s BETWEEN %lld AND %lld",
                 levels[i].has_long, levels[i].level_s,
                 (long long)around_s - (long long)levels[i].back_s, (long long)around_s);
        rc = sql_run_i64(store, sql, &longest_ms, error);
        store->longest_period_s = fmax(store->longest_period_s, (double)longest_ms / 1000);
    }
    return rc;
}

/* Returns the longest time that a record covers, backwards or forwards, in whole minutes. */
static int64_t reach_s(const struct store *store)
{
    const double reach_s = fmin(bucket_stands_s(store->longest_period_s), REACH_MAX_S);

    return bucket_start((int64_t)reach_s, BUCKET_MINUTE) + BUCKET_MINUTE;
}

/* After a start of the writer, continues the sums where they ended. */
static int find_summed(struct store *store, int64_t first_s, struct error *error)
{
    int64_t last_s = 0;
    int rc = sql_run_i64(store,
                         "SELECT coalesce(max(start_s) + 60, 0) FROM host_need WHERE level_s = 60",
                         &last_s, error);

    if (rc < 0)
        return rc;
    rc = find_longest(store, last_s > 0 ? earlier(last_s, first_s) : first_s, error);
    store->summed_s = last_s;
    store->final_s = (last_s > 0 ? last_s : first_s) - reach_s(store);
    return rc;
}

/* Adds up minutes once more when no new record can cover them any more, because a record also
 * covers minutes before it. At most WORK_MAX at once. */
static int sum_final(struct store *store, struct error *error)
{
    int64_t guests = 1;
    int64_t until_s = store->summed_s - reach_s(store);
    int rc = 0;

    if (store->longest_period_s <= BUCKET_MINUTE || until_s <= store->final_s) {
        store->final_s = later(store->final_s, until_s);
        return 0;
    }
    store->final_s = later(store->final_s, until_s - (int64_t)REACH_MAX_S);
    rc = sql_run_i64(store, "SELECT max(count(*), 1) FROM guest", &guests, error);
    until_s = earlier(until_s, store->final_s + (WORK_MAX / guests + 1) * BUCKET_MINUTE);
    if (rc == 0)
        rc = host_sum_range(store, store->final_s, until_s, false, error);
    if (rc == 0)
        store->final_s = until_s;
    return rc;
}

/* Adds up new minutes, and again those that a late record covers. While no records come, minutes
 * are added up only as long as the last records hold. A time more than a day ahead is ignored. */
static int sum_new(struct store *store, int64_t first_s, int64_t last_s, struct error *error)
{
    const int64_t lasts_s = reach_s(store);
    const int64_t summed_s = store->summed_s;
    int rc;

    store->summed_s = last_s;
    if (summed_s == 0)
        return host_sum_range(store, first_s, last_s, false, error);
    if (summed_s < first_s) { /* the minutes before the first of these records */
        rc = host_sum_range(store, summed_s, earlier(first_s, summed_s + lasts_s), true, error);
        return rc == 0 ? host_sum_range(store, first_s, last_s, false, error) : rc;
    }
    if (summed_s < last_s + DAY_S)
        store->summed_s = later(last_s, summed_s);
    return host_sum_range(store, first_s, later(last_s, earlier(summed_s, last_s + lasts_s)), false,
                          error);
}

int host_need_sum(struct store *store, int64_t first_s, int64_t last_s, double period_s,
                  struct error *error)
{
    int rc = store->summed_s == 0 ? find_summed(store, first_s, error) : 0;
    int64_t back_s;

    if (rc < 0)
        return rc;
    store->longest_period_s = fmax(store->longest_period_s, period_s);
    back_s = first_s - bucket_start((int64_t)fmin(period_s, REACH_MAX_S), BUCKET_MINUTE);
    if (back_s < store->summed_s - (int64_t)REACH_MAX_S) /* sum_final() does not go back that far */
        first_s = back_s;
    else
        store->final_s = earlier(store->final_s, back_s);
    rc = sum_new(store, first_s, last_s, error);
    return rc == 0 ? sum_final(store, error) : rc;
}
