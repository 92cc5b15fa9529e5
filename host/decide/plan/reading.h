// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reading.h  The sources of a fleet, and the time for which they are read: from_history.h.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/** A guest whose last record is this much older than the host's newest is gone; a host, if it is
 * older than the end of the span. */
#define PLAN_RECENT_S 3600

/** A host of a URL is not live if its last scrape is this old. */
#define PLAN_SCRAPED_S 1800

/** The margin is that of the Kubernetes vertical pod autoscaler. */
#define PLAN_SIZE_QUANTILE 0.99
#define PLAN_SIZE_MARGIN 0.15

struct prom_options;

struct plan_source {
    const char *path; /* path of a history, or a URL */
    /* the name to use for it; NULL: the name in its records. Not used for a URL */
    const char *host;
};

struct plan_reading {
    const struct plan_source *sources;
    size_t n_sources;
    double from_s, to_s; /* Unix time */
    int step_s;          /* step of the fleet; 0: plan_step_s() */
    /* window of the needs; sizes use the guest's longest window up to an hour */
    double window_s;
    /* a right size is this quantile of the WSS, and this margin more; 0: PLAN_SIZE_* */
    double size_quantile, size_margin;
    /* PromQL for the CPUs of each guest, with the label uuid; "": plan_cpu_query(); NULL: none */
    const char *cpu_query;
    bool writes;                           /* also what the guests write, as far as it is known */
    const struct prom_options *prometheus; /* NULL: no source is a URL */
    /* Called with a sentence about data that a URL did not have; NULL: not called. */
    void (*warn)(const char *text, void *context);
    /* Called with the progress, 0 .. 1; NULL: not called. */
    void (*progress)(double done, void *context);
    void *context;
};

/** Returns the quantile of right sizes. */
static inline double plan_size_quantile(const struct plan_reading *reading)
{
    return reading->size_quantile > 0 ? reading->size_quantile : PLAN_SIZE_QUANTILE;
}

/** Warns the caller of plan_read() that something is incomplete: like printf(). */
__attribute__((format(printf, 2, 3))) void plan_warn(const struct plan_reading *reading,
                                                     const char *format, ...);
