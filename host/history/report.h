// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file report.h  The history's report on each guest of a host, and on the host.
 *
 * It is made from buckets: a guest's quantiles are within SKETCH_ERROR, its maximum is exact. The
 * joint need of all guests is added up minute by minute (host_need.h), and is exact;
 * measure/estimate/packing.h estimates how many more guests would fit.
 */
#pragma once

#include "history/history.h"
#include "history/report_options.h"
#include "history/shortage.h"

#include <math.h>

struct report_guest {
    struct history_guest guest;
    bool running; /* still measured at the end of the report */
    /* not measured at the end, so all its resident memory counts as its working set */
    bool not_measured;
    bool assumed;  /* not measured at some time of the report */
    double last_s; /* time of its last bucket */
    /* records that have the window; 0: the WSS fields below are unknown */
    uint64_t records;
    double measured_s;       /* time that these records cover */
    uint64_t ram_bytes;      /* last size of its RAM */
    uint64_t resident_bytes; /* mean over its last bucket */
    /* unmeasurable part of it, a mean over its last bucket */
    uint64_t unmeasurable_bytes;
    double wss_p50, wss_p95, wss_p99, wss_max; /* bytes; quantiles over time */
    double wss_risk;                           /* WSS exceeded for a share @p risk of the time */
    /* resident - wss_risk - unmeasurable; 0 if the guest does not run */
    uint64_t reclaimable_bytes;
    /* The part of wss_p50 that is not written within the window: the bounds that hold for every
     * write curve of the report's time; NAN: there is none. */
    double read_mostly_low, read_mostly_high;
};

struct report {
    char host[256];
    int level_s;         /* level of the buckets */
    double from_s, to_s; /* first and last time with buckets */
    struct report_options options;
    size_t n_guests; /* guests that have the window, in the order of history_guests() */
    struct report_guest *guests;
    size_t n_times;
    double total_p50, total_p95, total_p99, total_max; /* bytes, joint need of all guests */
    double total_risk; /* exceeded in a share @p risk of the draws */
    uint64_t ram_bytes, resident_bytes, reclaimable_bytes; /* sums over the running guests */
    /* time with a known sum; the rest is a gap, which no figure includes */
    double known_s;
    double short_share;       /* with a capacity: share of draws that exceeded it */
    struct shortage shortage; /* with a capacity */
    /* Number of guests not measured at some time, for which the totals then contain all their
     * resident memory; and the maximum of that memory. */
    size_t n_assumed;
    double assumed_bytes;
    double fit; /* if capacity and size are given: number of additional guests */
};

/**
 * @return 0; free it with report_free(). -ENODATA: there are no records for that time or window;
 * the message names the windows that exist; -ENOTUNIQ: several hosts; -ENOENT: no such
 *         host; or as the history
 */
int report_make(struct store *store, const struct report_options *options, struct report *report,
                struct error *error);
void report_free(struct report *report);

/** The share of the time from from_s to to_s that has no known sum. */
static inline double report_gap_share(const struct report *report)
{
    return fmax(1 - report->known_s / fmax(report->to_s - report->from_s, 1), 0);
}
