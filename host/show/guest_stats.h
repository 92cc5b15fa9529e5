// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_stats.h  The guest's statistics for people and for scripts: always beside the host's
 * numbers, and named as the guest's. */
#pragma once

#include "measure/estimate/guest_stats.h"

#include <jansson.h>

/** Returns true if statistics were requested. Only then there is something to show, if only why
 * there are none. */
bool guest_stats_requested(const struct guest_stats *stats);

/**
 * The object "guest" of a record: "source" says where they are from, and with "none" "missing" why
 * there are none. What the guest did not report is left out. The caller owns it; NULL when out of
 * memory.
 */
json_t *guest_stats_json(const struct guest_stats *stats);

/** "103.2 MiB"; "-" when it was not reported. Returns @p text, as those below. */
char *guest_stats_bytes_text(char *text, size_t size, uint64_t bytes);
/** "12.3%"; "-" */
char *guest_stats_share_text(char *text, size_t size, double share);
/** "below", "near", "above"; ">= RAM" when the working set is at least what the guest has; "-" when
 * it is not known. */
char *guest_stats_verdict_text(char *text, size_t size, const struct guest_stats *stats);

#define GUEST_STATS_LINES 7
#define GUEST_STATS_LINE 200
/** What there is to say, in up to GUEST_STATS_LINES lines; their number. */
size_t guest_stats_lines(char lines[GUEST_STATS_LINES][GUEST_STATS_LINE],
                         const struct guest_stats *stats);
