// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file wss_output.h  A reading of vmwss-guest wss, for people and for scripts. */
#pragma once

#include "wss/watch.h"

struct wss_output {
    bool json;
    bool bytes;   /* instead of MiB */
    bool times;   /* how long was slept, and from begin to end */
    bool names;   /* more than one process may be shown */
    uint64_t top; /* at most so many; 0: all */
};

/** Prints the processes that will be watched, and the heading; nothing with json. */
void wss_output_begin(const struct wss_output *output, const struct watch *watch, double seconds);

/** One reading. 0 or -ENOMEM. */
int wss_output_reading(const struct wss_output *output, const struct watch *watch, double slept_s);
