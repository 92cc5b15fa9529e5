// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file idle_singles.h  Pages that are folios of their own, for method `idle`: nearly all pages of
 * a guest without huge ones.
 *
 * Each is settled by its frame number alone, without a struct frame: in a census only the program's
 * own work can be saved, not the kernel's. Every other page becomes a frame, for frames_resolve()
 * and the checks that follow it.
 */
#pragma once

#include "measure/method/idle_frames.h"

/**
 * Sets the idle flag of the present pages of the batch, and relies only on what kpageflags then
 * shows: such a page becomes PAGE_IDLE or PAGE_UNMEASURABLE. Marking first needs one reading of the
 * flags instead of two; page_idle skips the bit of a page that it does not track (mm/page_idle.c,
 * page_idle_get_folio()). Pages of larger folios, zero pages and merged pages are taken as frames:
 * they may not have been marked.
 * @return 0 or a negative errno.
 */
int singles_mark(struct frames *frames, int bitmap_fd);

/**
 * Reads the bits of the present pages of the batch that were marked as singles. Those that read
 * idle are settled: PAGE_UNMEASURABLE if they have moved, else they stay PAGE_IDLE. All others are
 * taken as frames, with their bit if it was read.
 * @return 0 or a negative errno.
 */
int singles_collect(struct frames *frames, int bitmap_fd);
