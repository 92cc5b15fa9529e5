// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file vmstat.h  Counters of /proc/vmstat: of the whole host, since boot. */
#pragma once

#include "base/fsroot.h"

/** The sum of the counters @p names, NULL-terminated, of one reading; those that the kernel does
 * not have, or that are below 0, count as 0. */
uint64_t vmstat_sum(const struct fsroot *root, const char *const *names);

/** The counter @p name; 0 where the kernel has none, or it is below 0. */
uint64_t vmstat_read(const struct fsroot *root, const char *name);
