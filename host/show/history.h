// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file history.h  A guest's history as a table, JSON lines or CSV. */
#pragma once

#include "history/writes.h"
#include "show/history_svg.h"
#include "show/sheet.h"

struct history_output; /* opaque */

/** Prints the heading, if the format has one. Returns NULL if out of memory. */
struct history_output *history_output_new(enum show_format format,
                                          const struct history_guest *guest,
                                          const struct history_query *query);
void history_output_point(struct history_output *output, const struct history_point *point);
/** Prints the remaining output. Returns 0 or -ENOMEM. */
int history_output_end(struct history_output *output);

/** Prints the guest's events instead, one line or object for each. Returns 0 or -ENOMEM. */
int history_events_print(enum show_format format, const struct history_guest *guest,
                         const struct history_event *events, size_t n);

/** Prints what the guest wrote instead, one line or object for each window of each measurement; or
 * for windows of that length only, if @p window_s is not 0. Returns 0 or -ENOMEM. */
int history_writes_print(enum show_format format, const struct history_guest *guest,
                         const struct kept_writes *writes, size_t n, double window_s);
