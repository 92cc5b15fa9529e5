// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file lru_batches.h  The batches in which each CPU gathers new pages before it puts them on the
 * LRU lists.
 *
 * Up to 31 pages a CPU wait there until the batch is full, however long that takes; page_idle and
 * MGLRU see only pages that are on a list. Huge pages are put on their list at once.
 *
 * Source: mm/swap.c, folio_add_lru(); mm/migrate.c, do_pages_move(), which empties the batches of
 * all CPUs before it examines the pages to be moved (Linux 2.6.29 and later, CONFIG_NUMA).
 */
#pragma once

#include <stdbool.h>

/**
 * Moves the pages of all CPUs' batches to their lists, without migrating any. It schedules work on
 * each CPU, so use it for a census, not for each scan of a daemon.
 * @return false if the kernel lacks the call
 */
bool lru_batches_drain(void);
