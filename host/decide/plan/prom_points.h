// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prom_points.h  Cuts the points out of an answer's JSON before the JSON is parsed.
 *
 * Theory of operation. Nearly all of an answer is "values":[[time,"value"],...], and jansson makes
 * an array, a number and a string of each point: this takes 1.5 microseconds and 30 times as many
 * bytes as two numbers. So these arrays are read here in a tenth of the time, and the remaining
 * JSON has the array's number in its place: {"metric":{...},"values":0}. An array that is not
 * exactly of that form stays in place, and the code that finds it there refuses it.
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
    size_t *ends; /* end of each array, as an index into the points */
    size_t n_arrays;
};

/** Reads the arrays of @p bytes; *rest: the remaining JSON, which the caller frees. Call
 * prom_points_free() even after an error. Returns 0; -E2BIG: there are more than @p most;
 * -ENOMEM */
int prom_points_cut(const char *bytes, size_t size, size_t most, struct prom_points *points,
                    char **rest, size_t *rest_size);
void prom_points_free(struct prom_points *points);

/** Adds a point. Returns 0, -E2BIG or -ENOMEM. */
int prom_points_add(struct prom_points *points, size_t most, struct prom_point point);

/** Parses @p n bytes such as "1.5e9"; returns NAN for "NaN", "+Inf", and other forms that strtod()
 * accepts. */
double prom_points_value(const char *text, size_t n);
