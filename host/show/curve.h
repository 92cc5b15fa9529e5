// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file curve.h  WSS against the window, as one curve for each record: for profile and grow. */
#pragma once

#include "measure/record/sample_record.h"
#include "show/sheet.h"

/** Prints CSV, a line for each window of each record, or the table of one record: a row for each
 * window with its growth since the row before, and a bar relative to resident memory. Returns 0 or
 * -ENOMEM. */
int curve_print(const struct sample_record *const *records, size_t n, enum show_format format);

/** Draws all curves in one picture, in different colours: of several guests, or of several times of
 * one guest.
 * @param n      1 to CHART_CURVES
 * @param log_x  the windows are powers of two */
int curve_svg_write(const struct sample_record *const *records, size_t n, const char *title,
                    bool log_x, const char *path, struct error *error);
