// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file wss_output.h  Prints a reading of vmwss-guest wss, for people and for programs. */
#pragma once

#include "wss/watch.h"

struct wss_output {
    bool json;
    bool bytes;   /* print bytes instead of MiB */
    bool times;   /* print the time slept, and the time from begin to end */
    bool names;   /* more than one process may be shown */
    uint64_t top; /* maximum number of processes; 0: all */
};

/** Prints the processes that will be measured, and the heading; nothing for JSON. */
void wss_output_begin(const struct wss_output *output, const struct watch *watch, double seconds);

/** Prints one reading. 0 or -ENOMEM. */
int wss_output_reading(const struct wss_output *output, const struct watch *watch, double slept_s);
