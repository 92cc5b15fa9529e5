// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file curve.h  WSS against the window, a curve from each record: for profile and grow. */
#pragma once

#include "measure/record/sample_record.h"

/** A line for each window of each record, with one heading; the time of each is the record's. */
void curve_csv_print(const struct sample_record *const *records, size_t n);

/** A row per window with its growth since the row before, and a bar of what is resident. */
void curve_table_print(const struct sample_record *record);

/** All in one picture, in different colours: of several guests, or times of one.
 *  @param n      1 to CHART_CURVES
 *  @param log_x  the windows are powers of two */
int curve_svg_write(const struct sample_record *const *records, size_t n, const char *title,
                    bool log_x, const char *path, struct error *error);
