// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file apart.h  Reads the largest processes for a report in a child process, because reading may
 * take long.
 *
 * Reading smaps_rollup takes a process's mmap lock, and another holder may keep it for long: a fork
 * of much memory in a guest that swaps, or a malicious process. The agent must answer nevertheless.
 */
#pragma once

#include "base/fsroot.h"

#include <jansson.h>

/**
 * Returns the "processes" of a report: at most WIRE_PROCESSES_MAX, with PSS; or without PSS, from
 * /proc/PID/statm only, if the child has not finished after @p deadline_ms or an earlier child
 * still runs.
 * @return an array that the caller releases; NULL if nothing could be read
 */
json_t *apart_processes(const struct fsroot *root, int deadline_ms);
