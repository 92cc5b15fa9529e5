// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sweep.h  What was touched of each page in its own window, where marking and reading take
 * time.
 *
 * A measurement marks its pages one after the other and reads them in the same order, at a steady
 * pace: the page that is the k-th of n present ones was marked k / n of the way from the beginning
 * of marking to its end, and read as far into reading. In a slow lab that takes seconds, in which a
 * working set can change.
 */
#pragma once

#include "answer.h"

/**
 * Sets touched[page] to the bits of what touched the page in the slots of its own window: those
 * wholly within it, or, @p outer, those that overlap it. Pages that moved get 0, or all bits.
 * @return 0; -EINVAL: a frame beyond the map; -ESTALE when a slot was used anew meanwhile; -ENOMEM.
 */
int oracle_sweep(const struct oracle_map *map, const struct oracle_window *window,
                 const struct oracle_frames *frames, bool outer, uint8_t *touched,
                 struct error *error);
