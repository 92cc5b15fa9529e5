// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file vmstat.h  Counters of /proc/vmstat, which cover the whole host since boot. */
#pragma once

#include "base/fsroot.h"

/** Sums the counters @p names, NULL-terminated, in one reading; counters that the kernel lacks, or
 * that are below 0, count as 0. */
uint64_t vmstat_sum(const struct fsroot *root, const char *const *names);

/** The counter @p name; 0 if the kernel lacks it, or if it is below 0. */
uint64_t vmstat_read(const struct fsroot *root, const char *name);
