// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file ageing.h  Detects that the host has taken accessed bits of this guest's memory, by reclaim
 * or by NUMA balancing.
 *
 * Reclaim reads and clears the bits on which some methods rely (enum method_signal). MGLRU, on by
 * default in many kernels since 6.1, walks all of a process's page tables and clears the bits
 * (since Linux 6.12 KVM's, too), but not the idle flag (mm/vmscan.c walk_pte_range();
 * folio_mark_accessed() returns before it clears the flag). So a page that was touched earlier
 * reads idle, and a method that relies on accessed bits reads the odometer before and after.
 *
 * The sources are:
 *   - /sys/kernel/debug/lru_gen: "memcg ID PATH", then "node N", then a line for each generation,
 *     its number first. Each walk begins a generation in the guest's control group.
 *   - pgscan and pgrefill in the group's memory.stat: eviction takes bits, too, including those
 *     around each page that it examines.
 * If debugfs cannot be read, a walk that evicts nothing in this group leaves no trace in its
 * memory.stat, so the whole host's counters are used: reclaim anywhere may have aged this guest. At
 * most 64 pages per CPU, scanned within the last two seconds, are missed, because memory.stat does
 * not include them yet.
 *
 * Automatic NUMA balancing removes mappings to see which node touches a page. If that loses KVM's
 * accessed bits (kernel/carried_bits.h), a page that was touched before, and not after, reads idle.
 * The kernel counts removed mappings for the whole host only.
 */
#pragma once

#include "measure/method.h"

/**
 * A number that increases whenever accessed bits on which @p signal relies may have been taken. If
 * it is the same before and after a window, no bits were taken; it has no other meaning. Always 0
 * for SIGNAL_MMU and SIGNAL_GENERATIONS, and for SIGNAL_IDLE_FLAG without MGLRU where accessed bits
 * are carried.
 */
uint64_t ageing_odometer(const struct target *target, enum method_signal signal);

/** As ageing_odometer(), for SIGNAL_IDLE_FLAG and all memory of the control group @p path; 0
 * without MGLRU. */
uint64_t ageing_group_odometer(const struct fsroot *root, const char *path);

/** Returns true if the host sometimes ages this guest's memory: within the last hour or, without
 * generations, ever. NUMA balancing counts in the same way. */
bool ageing_goes_on(const struct target *target, enum method_signal signal);

/** Notes in @p tally that bits were taken after its touches began to count. */
void ageing_doubt(struct tally *tally);
