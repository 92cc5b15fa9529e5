// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file own_round.h  One measurement of the guest's own working set, from marking to the numbers
 * of a report. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <jansson.h>

/** Checks that the kernel supports it. 0, or a negative errno with the reason. */
int own_round_check(const struct fsroot *root, struct error *why);

/**
 * Clears the referenced bits of all processes but this one, waits @p window_s, and reads which
 * memory was touched.
 *
 * It takes longer than the window, and waits while a process holds another's mmap lock, so call it
 * in a process that may be killed. Nothing has to be undone then.
 * @return an object that the caller releases: "working_set" (without its age) and "processes", the
 *         WIRE_PROCESSES_MAX that touched most, as in wire.h; NULL with the message
 */
json_t *own_round(const struct fsroot *root, double window_s, struct error *error);
