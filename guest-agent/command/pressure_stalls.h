// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pressure_stalls.h  Waits for stalls: vmwss-guest pressure --trigger. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "command/triggers.h"

#include <stdbool.h>

/** Prints a line for each stall, until there were @p count; 0: for ever. 0, or a negative errno
 * with the message. */
int pressure_stalls(const struct fsroot *root, const char *cgroup, const struct triggers *triggers,
                    uint64_t count, bool json, struct error *error);
