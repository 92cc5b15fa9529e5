// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file curve.h  WSS, or the write working set of a record that has it and no windows, as a
 * function of the window, one curve for each record, for profile and grow. */
#pragma once

#include "measure/record/sample_record.h"
#include "show/sheet.h"

/** Prints CSV with a line for each window of each record, or a table of one record: each row has a
 * window, its growth since the previous row, and a bar relative to resident memory. Returns 0 or
 * -ENOMEM. */
int curve_print(const struct sample_record *const *records, size_t n, enum show_format format);

/** Draws the curves of several guests, or of one guest at several times, in one chart with
 * different colours.
 * @param n      1 to CHART_CURVES
 * @param log_x  the windows are powers of two */
int curve_svg_write(const struct sample_record *const *records, size_t n, const char *title,
                    bool log_x, const char *path, struct error *error);
