// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file chart.h  One picture, as SVG: a curve with its band, or bars with their whiskers. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct chart_point {
    double x;          /* of a curve; bars stand side by side */
    const char *label; /* below the point or bar; NULL: none */
    double y, low, high;
};

struct chart {
    const char *title;
    const char *subtitle;
    const char *x_title;
    const char *y_title;
    bool bars;  /* else a curve */
    bool log_x; /* of a curve; x > 0 */
    double top; /* a line across at this height, e.g. what is resident; 0: none */
    const char *top_label;
    size_t n;
    const struct chart_point *points;
};

/** Can @p path be written? Best asked before the hours of measuring that the picture is of. Changes
 * nothing.
 *  0 or a negative errno with the message. */
int chart_check(const char *path, struct error *error);

/** Writes @p path, replacing what was there. 0 or a negative errno; a file (not a
 *  device, not a pipe) that could not be written whole is removed. */
int chart_write(const struct chart *chart, const char *path, struct error *error);
