// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file chart.h  One picture, as SVG: curves with their bands, or bars with their whiskers. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct chart_point {
    double x;          /* of a curve; bars stand side by side */
    const char *label; /* below the point or bar; NULL: none */
    double y, low, high;
    bool after_gap; /* of a curve: no line leads to it from the point before */
    double other;   /* of a curve with .other_label: of a second, thin line */
};

/* One more curve in the same axes. */
struct chart_curve {
    const char *label;
    size_t n; /* > 0 */
    const struct chart_point *points;
};

#define CHART_CURVES 8 /* in one picture: there are colours for so many */

/* A moment in a curve, e.g. that a guest was suspended. */
struct chart_mark {
    double x;
    const char *label;
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
    const char *other_label; /* NULL: there is no second line */
    size_t n;
    const struct chart_point *points;
    const char *label; /* of the curve, where there are more */
    size_t n_more;     /* less than CHART_CURVES */
    const struct chart_curve *more;
    size_t n_marks;
    const struct chart_mark *marks; /* within the points' span, ascending */
};

/** Can @p path, of the option, as "--svg", be written? Best asked before the hours of measuring
 * that the picture is of. Changes nothing. 0 or a negative errno with the message. */
int chart_check(const char *option, const char *path, struct error *error);

/** Writes @p path, replacing what was there. 0 or a negative errno; a file (not a
 *  device, not a pipe) that could not be written whole is removed. */
int chart_write(const struct chart *chart, const char *path, struct error *error);
