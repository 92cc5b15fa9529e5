// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace_stats.h  What a trace says: WSS against window, reuse between periods, pages that
 * come and go.
 *
 * Theory of operation. For runs of pages that have the same past, the number of the period in which
 * they were last touched is kept. Then at the end of period t a page belongs to the working set of
 * the last m periods exactly when t - last < m: one pass answers every m, as a stack of page
 * numbers in the order of their last use answers every size (Mattson and others, IBM Systems
 * Journal 9, 1970). A page that is touched in period t and was not within the m periods before is
 * one that a guest with only that working set would have had to bring back: it counts as missed.
 *
 * Pages are those that are touched and resident at the end of the period. The time between two
 * periods is not watched. Memory and time grow with the runs in the file, not with the pages that
 * they stand for. Pure, but for that memory.
 */
#pragma once

#include "base/wilson.h"
#include "history/trace/trace.h"

#define TRACE_MAX_SPANS 32

/** Numbers of pages, among those that are sampled. */
struct trace_change {
    uint64_t touched;               /* at the end of the period, as the rest */
    uint64_t kept;                  /* of these: in the period before as well */
    uint64_t first;                 /* of these: in no period before */
    uint64_t departed;              /* in the period before, but not in this one */
    uint64_t departed_missing;      /* of these: not resident any more */
    uint64_t departed_unmeasurable; /* of these: a touch could not be seen */
    uint64_t gone;                  /* touched within the period, but not resident at its end */
    uint64_t unmeasurable, missing;
    uint64_t units;    /* distinct observations among what is touched: a huge page is one */
    double design;     /* draws per observation, of these or of all so far, whichever is more: what
                          is in the set of several periods need not be touched in this one */
    double page_bytes; /* what a page that was looked at stands for, as the period's own estimate
                          has it */
    bool has_before;   /* there is a period before, with the same layout */
};

struct trace_bytes {
    uint64_t bytes, low_bytes, high_bytes; /* of a panel the 95 % interval, of a census no sampling
                                              error; and what flags and unmeasurable pages hide */
};

/** Means over all stretches of so many periods, which overlap. */
struct trace_span {
    uint64_t periods; /* so many in a row; 0: a reading within the periods */
    uint64_t n;       /* how many such stretches there are */
    double window_s;  /* from the first marking to the last reading */
    double watched_s; /* of it within periods */
    struct trace_bytes wss;
    uint64_t least_bytes, most_bytes; /* of wss.bytes */
    uint64_t n_after;                 /* how many of them have a period after */
    double missed; /* the share of that period's set that was not in the stretch's; of n_after
                      > 0 */
};

struct trace_stats; /* opaque */

/** NULL: out of memory. @p head is borrowed. */
struct trace_stats *trace_stats_new(const struct trace_head *head);
void trace_stats_free(struct trace_stats *stats);

/** The following periods have the pages of @p layout, which is borrowed until the next one; they
 * are not compared with earlier periods. 0 or -ENOMEM */
int trace_stats_layout(struct trace_stats *stats, const struct trace_layout *layout);

/** Adds a period. 0 or -ENOMEM */
int trace_stats_period(struct trace_stats *stats, const struct trace_period *period,
                       struct trace_change *change);

/** The readings, then stretches of 1, 2, 4, ... periods, as far as there are any; how many of at
 * most @p max. The last reading and the stretch of one period are the same: it is there once. */
size_t trace_stats_spans(const struct trace_stats *stats, struct trace_span *spans, size_t max);

/** The bytes that @p pages of the sampled pages stand for. @p change: of the same period. */
struct trace_bytes trace_stats_bytes(const struct trace_layout *layout,
                                     const struct trace_change *change, uint64_t pages);

/** The share of @p part in @p of pages with its 95 % interval, which has no width in a census;
 * [0, 1] where @p of is 0. */
struct interval trace_stats_share(const struct trace_layout *layout,
                                  const struct trace_change *change, uint64_t part, uint64_t of);
