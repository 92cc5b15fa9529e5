// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prom_points.h  The points of an answer, cut out of its JSON before that is parsed.
 *
 * Theory of operation. Nearly all of an answer are "values":[[time,"value"],...], and jansson makes
 * an array, a number and a string of each point: 1.5 microseconds and 30 times as many bytes as
 * two numbers. So these arrays are read here, which takes a tenth of that, and what is left has the
 * array's number in its place: {"metric":{...},"values":0}. An array that is not exactly of that
 * form is left in place, and refused by the code that finds it there.
 */
#pragma once

#include <stddef.h>

struct prom_point {
    double time_s;
    double value; /* NAN: it is not a finite number */
};

struct prom_points {
    struct prom_point *all;
    size_t n;
    size_t *ends; /* of each array, in all */
    size_t n_arrays;
};

/** Reads the arrays of @p bytes; *rest: what is left, that the caller frees. Free the points with
 * prom_points_free(), whatever is returned. 0; -E2BIG: there are more than @p most; -ENOMEM */
int prom_points_cut(const char *bytes, size_t size, size_t most, struct prom_points *points,
                    char **rest, size_t *rest_size);
void prom_points_free(struct prom_points *points);

/** Adds one. 0; -E2BIG; -ENOMEM */
int prom_points_add(struct prom_points *points, size_t most, struct prom_point point);

/** "1.5e9", @p n bytes; NAN: "NaN", "+Inf", and what strtod() takes besides. */
double prom_points_value(const char *text, size_t n);
