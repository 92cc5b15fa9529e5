// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file chart.h  One chart as SVG: curves with their bands, or bars with their whiskers. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct chart_point {
    double x;          /* for a curve; bars are side by side */
    const char *label; /* below the point or bar; NULL: no label */
    double y, low, high;
    bool after_gap; /* for a curve: leaves a gap between the previous point and this one */
    double other;   /* for a curve with other_label: the value of a second, thin line */
};

/* A further curve in the same axes, or further bars beside the first, in the same groups. */
struct chart_curve {
    const char *label;
    size_t n; /* > 0 */
    const struct chart_point *points;
};

#define CHART_CURVES 8 /* maximum in one chart, because it is the number of colours */

/* An event on a curve, for example the suspension of a guest. */
struct chart_mark {
    double x;
    const char *label;
};

struct chart {
    const char *title;
    const char *subtitle;
    const char *x_title;
    const char *y_title;
    bool bars;  /* draw bars; otherwise a curve */
    bool log_x; /* for a curve; requires x > 0 */
    double top; /* height of a horizontal line, for example resident memory; 0: none */
    const char *top_label;
    const char *other_label; /* name of a second line; NULL: there is none */
    size_t n;
    const struct chart_point *points;
    const char *label; /* name of the first curve if there are several */
    size_t n_more;     /* number of further curves, below CHART_CURVES */
    const struct chart_curve *more;
    size_t n_marks;
    const struct chart_mark *marks; /* within the points' span, ascending */
};

/** Checks that @p path, given with an option such as "--svg", can be written. Call it before a
 * measurement that may take hours. Changes nothing. Returns 0 or a negative errno with the
 * message. */
int chart_check(const char *option, const char *path, struct error *error);

/** Writes @p path, replacing an existing file. Returns 0 or a negative errno; a file (not a device,
 * not a pipe) that could not be written completely is removed. */
int chart_write(const struct chart *chart, const char *path, struct error *error);
