// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file curve.h  WSS against the window, as one curve for each record: for profile and grow. */
#pragma once

#include "measure/record/sample_record.h"

/** Prints a line for each window of each record, with one heading; each line has the time of its
 * record. */
void curve_csv_print(const struct sample_record *const *records, size_t n);

/** Prints a row for each window with its growth since the row before, and a bar relative to
 * resident memory. */
void curve_table_print(const struct sample_record *record);

/** Draws all curves in one picture, in different colours: of several guests, or of several times of
 * one guest.
 * @param n      1 to CHART_CURVES
 * @param log_x  the windows are powers of two */
int curve_svg_write(const struct sample_record *const *records, size_t n, const char *title,
                    bool log_x, const char *path, struct error *error);
