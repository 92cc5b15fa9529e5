// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file apart.h  The largest processes for a report, read where it may take long: in a child.
 *
 * Reading smaps_rollup takes the lock of a process's mappings, and a process that holds that for
 * writing may hold it long: a fork of much memory in a guest that swaps, or a process that means
 * to. The agent must answer all the same.
 */
#pragma once

#include "base/fsroot.h"

#include <jansson.h>

/**
 * The "processes" of a report: at most WIRE_PROCESSES_MAX, with PSS; from /proc/PID/statm alone,
 * without it, when the child has not come to its end after @p deadline_ms, or an earlier one still
 * has not.
 * @return an array for the caller to release; NULL when nothing could be read
 */
json_t *apart_processes(const struct fsroot *root, int deadline_ms);
