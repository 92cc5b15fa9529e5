// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace_stats.h  Statistics of a trace: WSS as a function of the window, reuse between
 * periods, and changes of the set.
 *
 * Theory of operation. Each run of pages with the same past has the number of the period in which
 * it was last touched. At the end of period t a page belongs to the working set of the last m
 * periods exactly when t - last < m. So one pass over the trace gives the result for every m, like
 * the LRU stack for every memory size (Mattson and others, IBM Systems Journal 9, 1970). A page
 * that is touched in period t but not within the m periods before counts as missed: a guest that
 * had only kept that working set would have to read it back.
 *
 * Only pages that are touched, and resident at the end of the period, count. The time between two
 * periods is not observed. Memory and time grow with the number of runs in the file, not of pages.
 * Pure functions, except for that memory.
 */
#pragma once

#include "base/wilson.h"
#include "history/trace/trace.h"

#define TRACE_MAX_SPANS 32

/** Numbers of sampled pages. */
struct trace_change {
    /* touched, and resident at the end of the period */
    uint64_t touched;
    uint64_t kept;             /* part of touched: also touched in the previous period */
    uint64_t first;            /* part of touched: touched in no earlier period */
    uint64_t departed;         /* touched in the previous period, but not in this one */
    uint64_t departed_missing; /* part of departed: no longer resident */
    /* part of departed: unmeasurable, so a touch would not be seen */
    uint64_t departed_unmeasurable;
    uint64_t gone; /* touched within the period, but not resident at its end */
    uint64_t unmeasurable, missing;
    /* distinct observations among the touched pages; draws in one huge page are one */
    uint64_t units;
    /* draws per observation, in this period or in all periods so far, whichever is larger: pages in
     * the set of several periods need not be touched in this one */
    double design;
    double page_bytes; /* bytes that one sampled page represents, from the period's own estimate */
    bool has_before;   /* the previous period has the same layout */
};

struct trace_bytes {
    /* for a panel with its 95 % interval, for a census without sampling error; both bounds include
     * the effect of flags and unmeasurable pages */
    uint64_t bytes, low_bytes, high_bytes;
};

/** Means over all sequences ("stretches") of a given number of periods; stretches overlap. */
struct trace_span {
    uint64_t periods; /* number of consecutive periods; 0: a reading within the periods */
    uint64_t n;       /* number of stretches */
    double window_s;  /* from the first marking to the last reading */
    double watched_s; /* the part of window_s inside periods */
    struct trace_bytes wss;
    uint64_t least_bytes, most_bytes; /* minimum and maximum of wss.bytes */
    uint64_t n_after;                 /* number of stretches followed by a period */
    /* share of that following period's set that was not in the stretch's set; valid if n_after >
     * 0 */
    double missed;
};

struct trace_stats; /* opaque */

/** Returns NULL if out of memory. @p head is borrowed. */
struct trace_stats *trace_stats_new(const struct trace_head *head);
void trace_stats_free(struct trace_stats *stats);

/** Sets the layout of the following periods, borrowed until the next layout; these periods are not
 * compared with earlier ones. Returns 0 or -ENOMEM */
int trace_stats_layout(struct trace_stats *stats, const struct trace_layout *layout);

/** Adds a period. Returns 0 or -ENOMEM */
int trace_stats_period(struct trace_stats *stats, const struct trace_period *period,
                       struct trace_change *change);

/** Lists the readings, then stretches of 1, 2, 4, ... periods; returns their number, at most @p
 * max. The last reading equals the stretch of one period, and is listed once. */
size_t trace_stats_spans(const struct trace_stats *stats, struct trace_span *spans, size_t max);

/** Returns the bytes that @p pages sampled pages represent. @p change: from the same period. */
struct trace_bytes trace_stats_bytes(const struct trace_layout *layout,
                                     const struct trace_change *change, uint64_t pages);

/** Returns the share of @p part in @p of pages with its 95 % interval, which has no width for a
 * census; [0, 1] if @p of is 0. */
struct interval trace_stats_share(const struct trace_layout *layout,
                                  const struct trace_change *change, uint64_t part, uint64_t of);
