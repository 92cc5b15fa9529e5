// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace_stats.h  Statistics of a trace: WSS against window, reuse between periods, pages that
 * come and go.
 *
 * Theory of operation. Each run of pages with the same past has the number of the period in which
 * it was last touched. Then at the end of period t a page belongs to the working set of the last m
 * periods exactly when t - last < m: one pass answers every m, as a stack of page numbers in the
 * order of their last use answers every size (Mattson and others, IBM Systems Journal 9, 1970). A
 * page that is touched in period t but was not within the m periods before would have had to be
 * brought back by a guest with only that working set: it counts as missed.
 *
 * Pages count if they are touched and resident at the end of the period. The time between two
 * periods is not observed. Memory and time grow with the runs in the file, not with their pages.
 * Pure functions, except for that memory.
 */
#pragma once

#include "base/wilson.h"
#include "history/trace/trace.h"

#define TRACE_MAX_SPANS 32

/** Numbers of sampled pages. */
struct trace_change {
    uint64_t touched;               /* touched at the end of the period, like the fields below */
    uint64_t kept;                  /* part of touched: touched in the period before as well */
    uint64_t first;                 /* part of touched: touched in no period before */
    uint64_t departed;              /* touched in the period before, but not in this one */
    uint64_t departed_missing;      /* part of departed: no longer resident */
    uint64_t departed_unmeasurable; /* part of departed: a touch could not be seen */
    uint64_t gone;                  /* touched within the period, but not resident at its end */
    uint64_t unmeasurable, missing;
    uint64_t units; /* distinct observations among the touched pages: a huge page is one */
    /* draws per observation, in this period or in all so far, whichever is more: pages in the set
     * of several periods need not be touched in this one */
    double design;
    double page_bytes; /* bytes that a sampled page stands for, from the period's own estimate */
    bool has_before;   /* true if there is a period before with the same layout */
};

struct trace_bytes {
    /* for a panel the 95 % interval, for a census without sampling error; both include what flags
     * and unmeasurable pages hide */
    uint64_t bytes, low_bytes, high_bytes;
};

/** Means over all stretches of a number of periods; stretches overlap. */
struct trace_span {
    uint64_t periods; /* periods in a row; 0: a reading within the periods */
    uint64_t n;       /* number of such stretches */
    double window_s;  /* from the first marking to the last reading */
    double watched_s; /* part of window_s within periods */
    struct trace_bytes wss;
    uint64_t least_bytes, most_bytes; /* minimum and maximum of wss.bytes */
    uint64_t n_after;                 /* number of stretches with a period after them */
    /* share of that period's set that was not in the stretch's set; if n_after > 0 */
    double missed;
};

struct trace_stats; /* opaque */

/** Returns NULL if out of memory. @p head is borrowed. */
struct trace_stats *trace_stats_new(const struct trace_head *head);
void trace_stats_free(struct trace_stats *stats);

/** Sets the layout of the following periods, which is borrowed until the next one; they are not
 * compared with earlier periods. Returns 0 or -ENOMEM */
int trace_stats_layout(struct trace_stats *stats, const struct trace_layout *layout);

/** Adds a period. Returns 0 or -ENOMEM */
int trace_stats_period(struct trace_stats *stats, const struct trace_period *period,
                       struct trace_change *change);

/** Lists the readings, then stretches of 1, 2, 4, ... periods, as far as there are any; returns how
 * many of at most @p max. The last reading and the stretch of one period are the same, and listed
 * once. */
size_t trace_stats_spans(const struct trace_stats *stats, struct trace_span *spans, size_t max);

/** Returns the bytes that @p pages of the sampled pages stand for. @p change: from the same period.
 */
struct trace_bytes trace_stats_bytes(const struct trace_layout *layout,
                                     const struct trace_change *change, uint64_t pages);

/** Returns the share of @p part in @p of pages with its 95 % interval, which has no width in a
 * census; [0, 1] if @p of is 0. */
struct interval trace_stats_share(const struct trace_layout *layout,
                                  const struct trace_change *change, uint64_t part, uint64_t of);
