// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file measure.h  One measurement of the cache use of a guest's vCPUs: it opens counters and
 * resctrl, waits for the window, and restores everything.
 */
#pragma once

#include "base/error.h"
#include "guest/domain/qemu_process.h"
#include "measure/cache/verdict.h"

struct cache_plan {
    double window_s;
    const volatile int *interrupted; /* the measurement ends when this is not 0 */
    /* Called at intervals within the window; may be NULL. */
    void (*tick)(double elapsed_s, void *context);
    void *context;
};

struct cache_result {
    double unix_s; /* when the window began */
    struct cache_seen seen;
    struct cache_verdict verdict;
    struct error no_counters; /* the reason why there are no counts; code 0 if there are */
    struct error no_monitor;  /* the reason why resctrl does not monitor; code 0 if it does */
};

/**
 * Measures the guest of @p process. Call it from the only thread.
 * @return 0; -ENOTSUP: neither counters nor resctrl work on this host or for this guest, with the
 *         reasons; -EBUSY: another vmwss measures it; -EINTR; -ESRCH: the guest ended; or another
 *         negative errno
 */
int cache_measure(const struct fsroot *root, const struct qemu_process *process,
                  const struct cache_plan *plan, struct cache_result *out, struct error *error);

/** Checks that this host can count or monitor. The reasons are as in struct cache_result. Returns 0
 * if either works. */
int cache_check_host(const struct fsroot *root, struct error *no_counters,
                     struct error *no_monitor);
