// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file damon_trace.h  Reads a kdamond's findings through perf: tracepoint damon:damon_aggregated
 * on its thread.
 *
 * The kdamond writes one record for each region when an aggregation interval ends
 * (kdamond_reset_aggregated(), mm/damon/core.c). The alternative is the directories of tried
 * regions in sysfs. They can end a window only at a tick of DAMON (the command holds the lock
 * needed to turn it off), and 2,000 regions mean 2,000 directories and reading 4,000 files. Here a
 * region costs 64 bytes in a ring.
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
 *  @param wake_fd  from trace_wake_open(); readable when damon_trace_drain() should be called
 */
int damon_trace_open(const struct fsroot *root, pid_t kdamond, uint64_t n_regions, int wake_fd,
                     struct damon_trace **out, struct error *error);
void damon_trace_free(struct damon_trace *trace);

/** Calls @p visit for every region reported since the last call, with its start and the number of
 * samples that saw an access. Works also after the kdamond has ended. */
void damon_trace_drain(const struct damon_trace *trace,
                       void (*visit)(uint64_t start, unsigned nr_accesses, void *context),
                       void *context);

/** Number of records lost because the ring was full. */
uint64_t damon_trace_lost(const struct damon_trace *trace);

/** CPU time of the kdamond's thread in ns, including the time before the trace was opened. */
uint64_t damon_trace_cpu_ns(const struct damon_trace *trace);
