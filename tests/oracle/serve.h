// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file serve.h  Answers a lab about its own map, which lies outside of it, over a pair of pipes.
 *
 * Requests are lines; each has one line of JSON for its answer, {"error": "..."} where there is
 * none:
 *   "time"               {"time_ns": N}: CLOCK_REALTIME outside, by which the slots are dated
 *   "begin"              {"begun": true}: from here on what is touched is noted
 *   "count FROM MARKED READ TO N"   and N frames of 4 bytes (struct oracle_frames): what
 * oracle_answer() counts in the window [FROM, TO), in ns of that clock, whose pages were marked
 * until MARKED and read since READ
 */
#pragma once

/** Until the end of @p in. 0; -EPROTO when what was read is no request, so where the next one
 * begins is unknown. */
int oracle_serve(const char *map_path, int in, int out);
