// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file report.h  What the history says of each guest of a host, and of the host.
 *
 * It is made from buckets, so the quantiles of a guest are within SKETCH_ERROR; the maximum is
 * exact. What all guests need together is added up minute by minute (host_need.h), and exact;
 * measure/estimate/packing.h says what more would fit.
 */
#pragma once

#include "history/history.h"
#include "history/report_options.h"

#include <math.h>

struct report_guest {
    struct history_guest guest;
    bool running;                /* measured when the report ends */
    bool not_measured;           /* of late: its working set counts as all that is resident */
    bool assumed;                /* it was not measured at some time of the report */
    double last_s;               /* its last bucket */
    uint64_t records;            /* that have the window; 0: none of what follows of WSS is known */
    double measured_s;           /* the time that they stand for */
    uint64_t ram_bytes;          /* the last ones, */
    uint64_t resident_bytes;     /* which is a mean over a bucket, */
    uint64_t unmeasurable_bytes; /* likewise */
    double wss_p50, wss_p95, wss_p99, wss_max; /* bytes, over time */
    double wss_risk;                           /* exceeded for a share @p risk of the time */
    uint64_t reclaimable_bytes; /* resident, less that, less what is unmeasurable; 0 of one that
                                   does not run */
};

struct report {
    char host[256];
    int level_s;         /* of the buckets */
    double from_s, to_s; /* of what was there */
    struct report_options options;
    size_t n_guests; /* that have the window; in the order of history_guests() */
    struct report_guest *guests;
    size_t n_times, n_draws;
    double total_p50, total_p95, total_p99, total_max; /* bytes, of all guests together */
    double total_risk; /* exceeded for a share @p risk of the draws */
    uint64_t ram_bytes, resident_bytes, reclaimable_bytes; /* sums, of those that run */
    double known_s;  /* the time that a sum is kept of; the rest is a gap, which is in no figure */
    double shortage; /* with a capacity: the share of draws in which it did not suffice */
    /* With a capacity: the minutes in which it did not suffice, and the longest run of them. Some
     * are rough where only the distribution of an hour is kept: then short_s is an estimate within
     * bounds, and the longest run is not known. */
    double short_s, short_low_s, short_high_s, longest_short_s;
    bool short_rough;
    /* Guests that were not measured at some time, and count as all that is resident in the totals
     * then; and how much that was at most. */
    size_t n_assumed;
    double assumed_bytes;
    double fit; /* with a capacity and a size: how many more */
};

/**
 * @return 0; free it with report_free(). -ENODATA: nothing is kept of that time, or not of that
 *         window: the message says which windows are; -ENOTUNIQ: several hosts; -ENOENT: no such
 *         host; or as the history
 */
int report_make(struct store *store, const struct report_options *options, struct report *report,
                struct error *error);
void report_free(struct report *report);

/** The share of the time from from_s to to_s that no sum is kept of. */
static inline double report_gap_share(const struct report *report)
{
    return fmax(1 - report->known_s / fmax(report->to_s - report->from_s, 1), 0);
}
