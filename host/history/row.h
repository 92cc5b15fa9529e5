// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file row.h  A record's windows and ages as the text that stands in its row.
 *
 *   windows  [[window_s, est_window_s, wss, low, high (bytes), touched_fraction, unit_low, vcpu_s],
 *            ...]; unit_low (bytes) is 0 where it is low. Of older files neither may be there, or
 * not the last ages     [[from_s, to_s or null, bytes, low, high], ...]
 */
#pragma once

#include "measure/record/ages_record.h"

/** The JSON text, which the caller frees; NULL when out of memory or a number is none
 * (infinite). */
char *row_windows_text(const struct sample_record *sample);
char *row_ages_text(const struct ages_record *record);

/** The way back, into sample->windows and record->bins. -EUCLEAN when the text is something
 * else. */
int row_windows_parse(struct sample_record *sample, const char *text);
int row_ages_parse(struct ages_record *record, const char *text);
