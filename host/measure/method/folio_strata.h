// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file folio_strata.h  Sizes of the folios of guest RAM: a touch of one page moves all of its
 * folio to the youngest generation, and may show as all of it in smaps. */
#pragma once

#include "guest/ram/target.h"
#include "measure/tally.h"

/**
 * Replaces the strata of @p tally by the real folio sizes of guest RAM, by reading the frame of
 * each page. It does so only if the host has folios that are mapped page by page, and so do not
 * show in smaps, or if guest RAM is a file on a disk. Otherwise, and if the frames cannot be read,
 * the strata stay, or become one stratum of huge pages, which promises least.
 *
 * Its cost is not bounded: at 65 to 270 ns a present page (idle_frames.c), 9 to 36 s of CPU time
 * for 512 GiB in each period, if the host has such folios. A sample of pages would be cheaper; but
 * all touches may be in the folios that it missed, so it would give no lower bound.
 */
void folio_strata(const struct target *target, struct tally *tally);
