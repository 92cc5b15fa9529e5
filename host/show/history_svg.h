// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file history_svg.h  A guest's history, with its events, as an SVG chart. */
#pragma once

#include "history/event.h"

struct history_event {
    enum event_kind kind;
    double time_s; /* Unix time */
};

struct history_picture {
    const struct history_guest *guest;
    const struct history_query *query;
    size_t n_points; /* > 0 */
    const struct history_point *points;
    size_t n_events;
    const struct history_event *events;
};

/** Writes @p path, replacing an existing file: the working set with its band, resident and assigned
 * memory, gaps, and a line for each event. Returns 0 or a negative errno, as chart_write(). */
int history_svg_write(const struct history_picture *picture, const char *path, struct error *error);
