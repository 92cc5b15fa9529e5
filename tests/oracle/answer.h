// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file answer.h  What was touched in a window, counted as JSON: of a whole map, or of the frames
 * of one nested guest. */
#pragma once

#include "map.h"

#include <jansson.h>

/** The RAM of a nested guest, page by page, in the lab's frames. */
struct oracle_frames {
    uint64_t n;
    const uint32_t *frame; /* 0: absent; else the frame number, perhaps with the flag */
};

/** The page was in another frame, or in none, at the other end of the window: what was touched of
 * it is not known. */
#define ORACLE_FRAME_MOVED (1U << 31)

/**
 * Counts the slots of a window that oracle_map_find() found: the object that `oracle --help`
 * explains.
 * @param frames  NULL: all of the map. Pages that moved count as not touched in low, as touched in
 *                high. With them and marked_ns the object has own_low and own_high, too (sweep.h):
 *                low is then what was touched after all pages had been marked and before the first
 *                was read, high what was since the first was marked and until the last was read.
 * @return 0, and *out is the caller's; -EINVAL: a frame beyond the map; -ESTALE, see
 * oracle_map_touched(); -ENOMEM.
 */
int oracle_answer(const struct oracle_map *map, const struct oracle_window *window,
                  const struct oracle_frames *frames, json_t **out, struct error *error);
