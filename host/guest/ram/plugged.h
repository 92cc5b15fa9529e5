// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file plugged.h  RAM-like mappings that QEMU makes after the guest's RAM was located: a DIMM, an
 * NVDIMM, memory of virtio-mem, or a backend that no device uses, which looks the same. Nothing in
 * the process tells whether the guest uses such a mapping, so it counts neither as RAM nor as
 * QEMU's own.
 *
 * A new mapping is recognised by its address, not by its size: a DIMM may be as large as any block.
 * /proc/PID/maps is enough for that; smaps, which walks page tables, is read for VmFlags only if
 * there is a new mapping.
 */
#pragma once

#include "guest/ram/guest_ram.h"

/**
 * Updates ram->others and the amount of them that is unclaimed.
 * @return 0; -ESTALE: a block of @p ram is no longer mapped, so the RAM must be located again;
 * another negative errno: the reason why the mappings could not be read, and @p ram is unchanged
 */
int guest_ram_find_plugged(const struct fsroot *root, pid_t pid, struct guest_ram *ram,
                           struct error *error);

/** Sets unclaimed_bytes, and its resident part: all of it if that cannot be counted. @p
 * unseen_bytes: size of QEMU's further address space that was not examined. */
void guest_ram_count_unclaimed(const struct fsroot *root, pid_t pid, struct guest_ram *ram,
                               uint64_t unseen_bytes);
