// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_stats.h  Formats the guest's statistics, for people and for programs: always next to
 * the host's numbers, and marked as guest-reported. */
#pragma once

#include "base/text/units.h"
#include "measure/estimate/guest_stats.h"

#include <jansson.h>

/** Returns true if statistics were requested. If so, there is something to show, even if it is only
 * the reason why there are no statistics. */
bool guest_stats_requested(const struct guest_stats *stats);

/**
 * Makes the object "guest" of a record: "source" names the source, and if that is "none", "missing"
 * has the reason. Values that the guest did not report are omitted. The caller owns the object;
 * NULL if out of memory.
 */
json_t *guest_stats_json(const struct guest_stats *stats);

/** "103.2 MiB"; "-" if it was not reported. Returns @p text, like the functions below. */
char *guest_stats_bytes_text(char *text, size_t size, uint64_t bytes);
#define GUEST_STATS_BYTES(bytes) guest_stats_bytes_text(UNITS_BUFFER, UNITS_TEXT, bytes)
/** "12.3%"; "-" */
char *guest_stats_share_text(char *text, size_t size, double share);
#define GUEST_STATS_SHARE(share) guest_stats_share_text(UNITS_BUFFER, UNITS_TEXT, share)
/** "below", "near", "above"; ">= RAM" if the working set is at least the guest's RAM; "-" if it is
 * not known. */
char *guest_stats_verdict_text(char *text, size_t size, const struct guest_stats *stats);

#define GUEST_STATS_LINES 7
#define GUEST_STATS_LINE 200
/** Writes a description in up to GUEST_STATS_LINES lines; returns their number. */
size_t guest_stats_lines(char lines[GUEST_STATS_LINES][GUEST_STATS_LINE],
                         const struct guest_stats *stats);
