// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report_level.c  See report_level.h. */
#include "history/report_level.h"

#include "history/history.h"
#include "history/open_store.h"
#include "history/sql.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Finds the start of a level's first bucket in the span; the end of the span if it has none. */
static int first_time(struct store *store, const struct report_options *options, int level_s,
                      double *from_s, struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    double floor_s = fmax(options->from_s, 0);
    int rc = sql_prepare_with(store,
                              "SELECT start_s FROM bucket WHERE level_s = ? AND start_s >= ?"
                              " ORDER BY start_s LIMIT 1",
                              &statement, error, level_s,
                              (int64_t)fmin(floor_s, 9e15) / level_s * level_s);

    if (rc == 0)
        rc = sql_step(store, statement, error);
    *from_s = rc == 1 ? fmax((double)sqlite3_column_int64(statement, 0), floor_s) : options->to_s;
    return rc < 0 ? rc : 0;
}

int report_level(struct store *store, const struct report_options *options, int *level_s,
                 double *from_s, struct error *error)
{
    double minutes_s;
    int rc = first_time(store, options, BUCKET_HOUR, from_s, error);

    if (rc == 0)
        rc = first_time(store, options, BUCKET_MINUTE, &minutes_s, error);
    if (rc == 0) {
        const bool any = minutes_s < options->to_s;

        *level_s = any && minutes_s <= *from_s + BUCKET_HOUR ? BUCKET_MINUTE : BUCKET_HOUR;
    }
    return rc;
}

int report_nothing(struct store *store, const struct report_options *options, struct error *error)
{
    double window_s[RUN_MAX_WINDOWS];
    char list[512] = "";
    size_t used = 0;
    ssize_t n = history_windows(store, 0, window_s, error);

    if (n < 0)
        return (int)n;
    for (ssize_t w = 0; w < n && used < sizeof(list); w++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%g", w ? ", " : "",
                                 window_s[w]);
    return error_set(error, -ENODATA,
                     "%s: there are no records of this time with a window of %g s%s%s", store->path,
                     options->window_s, n ? "; recent windows: " : "", list);
}

ssize_t report_choose_host(const struct report_options *options, struct history_guest *guests,
                           ssize_t n, char host[256], struct error *error)
{
    ssize_t kept = 0;

    snprintf(host, 256, "%s", options->host ? options->host : n > 0 ? guests[0].host : "");
    for (ssize_t i = 0; i < n; i++) {
        if (strcmp(guests[i].host, host) == 0)
            guests[kept++] = guests[i];
        else if (!options->host)
            return error_set(error, -ENOTUNIQ,
                             "it is the history of several hosts, %s and %s among them: choose "
                             "with --host",
                             host, guests[i].host);
    }
    if (kept == 0 && options->host)
        return error_set(error, -ENOENT, "host %s: no records of it are kept", options->host);
    return kept;
}
