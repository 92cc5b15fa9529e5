// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file own_memory.h  What QEMU has in memory besides the guest's RAM, page by page: heap, stacks,
 * translated code.
 *
 * The counters of /proc/PID/status are of all of QEMU. What of their change is QEMU's own is seen
 * in the page tables outside of guest RAM, which are small: /proc/PID/maps says where, pagemap what
 * is there. 1.2 ms for a TCG guest's QEMU with its 1 GiB of room for translated code (measured,
 * 6.18).
 */
#pragma once

#include "guest_ram/guest_ram.h"

/**
 * Counts pages of QEMU's own private mappings that are in memory.
 * @param files  pages of files, too; else anonymous ones only, as in RssAnon
 * @return 0; -E2BIG: its mappings are too large for that; a negative errno when maps or pagemap
 * cannot be read (also of a captured tree)
 */
int own_memory_read(const struct fsroot *root, pid_t pid, const struct guest_ram *ram, bool files,
                    uint64_t *bytes);
