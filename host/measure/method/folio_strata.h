// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file folio_strata.h  How large the folios of guest RAM are: a touch in one page moves all of a
 * folio to the youngest generation, and may show as all of it in smaps. */
#pragma once

#include "guest/ram/target.h"
#include "measure/tally.h"

/**
 * Where the host has folios that are mapped page by page, and so do not show in smaps, or guest RAM
 * is a file on a disk: replaces the strata of @p tally by what guest RAM is made of, by one look at
 * each page's frame. Else, and where that cannot be read, they stay, or become one of huge pages,
 * which promises least.
 *
 * Not bounded: at 65 to 270 ns a present page (idle_frames.c) 9 to 36 s of CPU time for 512 GiB, of
 * each period, where the host has such folios. A sample of pages would be cheaper; but all may have
 * been touched in the folios that it missed, so that no lower bound would follow.
 */
void folio_strata(const struct target *target, struct tally *tally);
