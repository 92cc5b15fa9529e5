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

#include "measure/record/field.h"

/** Returns the array of @p type (FIELD_WINDOWS, FIELD_AGES or FIELD_POINTS) of the struct at
 * @p base as JSON text, which the caller frees; NULL if out of memory or if a number is infinite.
 */
char *row_text(enum field_type type, const void *base);

/** Parses the text into the array of the struct at @p base. Returns -EUCLEAN if it has another
 * form. A curve has at least one point, and each measured window is longer than the one before. */
int row_parse(enum field_type type, const char *text, void *base);
