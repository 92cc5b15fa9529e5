// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file row.h  A record's windows and ages, and a curve's points, as text for a row.
 *
 *   windows  [[window_s, est_window_s, wss, low, high (bytes), touched_fraction, unit_low, vcpu_s],
 *            ...]; unit_low (bytes) is 0 if it equals low. Older files may lack vcpu_s, or
 *            unit_low and vcpu_s
 *   ages     [[from_s, to_s or null, bytes, low, high], ...]
 *   points   [[window_s, est_window_s, bytes, low, high], ...]
 */
#pragma once

#include "measure/record/ages_record.h"

/** Returns the JSON text, which the caller frees; NULL if out of memory or if a number is infinite.
 */
char *row_windows_text(const struct sample_record *sample);
char *row_ages_text(const struct ages_record *record);
char *row_points_text(const struct write_curve *curve);

/** Parses the text into sample->windows, record->bins and curve->points. Returns -EUCLEAN if it has
 * another form. */
int row_windows_parse(struct sample_record *sample, const char *text);
int row_ages_parse(struct ages_record *record, const char *text);
/** At least one point, and each measured window is longer than the one before. */
int row_points_parse(struct write_curve *curve, const char *text);
