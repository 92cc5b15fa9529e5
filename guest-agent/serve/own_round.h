// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file own_round.h  One measurement of the guest's own working set, from marking to the numbers
 * of a report. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <jansson.h>

/** Checks that the kernel can do it. 0, or a negative errno with the reason. */
int own_round_check(const struct fsroot *root, struct error *why);

/**
 * Clears the referenced bits of all processes but this one, waits @p window_s, and looks what was
 * touched.
 *
 * Takes that long and longer; while a process holds the lock of another's mappings it waits for
 * him, so it belongs into a process that may be killed. Nothing need be undone then.
 * @return for the caller to release: "working_set", without its age, and "processes", those
 *         WIRE_PROCESSES_MAX that touched most, as wire.h has them; NULL with the message
 */
json_t *own_round(const struct fsroot *root, double window_s, struct error *error);
