// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file damon_trace.h  Reads a kdamond's findings through perf: tracepoint damon:damon_aggregated
 * on its thread.
 *
 * The kdamond writes one record for each region when an aggregation interval ends
 * (kdamond_reset_aggregated(), mm/damon/core.c). The other way to the same facts, directories of
 * tried regions in sysfs, can end a window only at a tick of DAMON (the command holds the lock that
 * turning it off needs), and for 2,000 regions it makes 2,000 directories, has 4,000 files read,
 * and removes the directories. Here a region costs 64 bytes in a ring.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <sys/types.h>

/** Checks that the tracepoint exists. -ENOENT with the remedy. */
int damon_trace_host(const struct fsroot *root, struct error *error);

struct damon_trace; /* opaque */

/**
 * Records two reports of thread @p kdamond about @p n_regions regions. Free with
 * damon_trace_free().
 *  @param wake_fd  from trace_wake_open(); it tells when to call damon_trace_drain()
 */
int damon_trace_open(const struct fsroot *root, pid_t kdamond, uint64_t n_regions, int wake_fd,
                     struct damon_trace **out, struct error *error);
void damon_trace_free(struct damon_trace *trace);

/** Calls @p visit for every region reported since the last call, with its begin and the number of
 * samples that saw an access. The kdamond may have ended. */
void damon_trace_drain(const struct damon_trace *trace,
                       void (*visit)(uint64_t start, unsigned nr_accesses, void *context),
                       void *context);

/** Number of records lost for want of room. */
uint64_t damon_trace_lost(const struct damon_trace *trace);

/** CPU time of the kdamond's thread so far, also from before the trace was opened; in ns. */
uint64_t damon_trace_cpu_ns(const struct damon_trace *trace);
