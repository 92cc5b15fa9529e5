// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file vmstat.h  One counter of /proc/vmstat: of the whole host, since boot. */
#pragma once

#include "base/fsroot.h"

/** The counter @p name; 0 where the kernel has none. */
uint64_t vmstat_read(const struct fsroot *root, const char *name);
