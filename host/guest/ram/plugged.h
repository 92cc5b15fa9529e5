// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file plugged.h  What QEMU maps, like RAM, after the guest's RAM was located: a DIMM, an NVDIMM,
 * memory of virtio-mem; or a backend that no device uses, which looks the same. Nothing in the
 * process says whether the guest uses it, so it is claimed neither as RAM nor as QEMU's own.
 *
 * It is told from what is known by its address, not by its size: a DIMM may be as large as any
 * block. /proc/PID/maps is enough for that; smaps, which walks page tables, is read only when there
 * is something new, for VmFlags.
 */
#pragma once

#include "guest/ram/guest_ram.h"

/**
 * Brings ram->others up to date, and what of them is unclaimed.
 * @return 0; -ESTALE: a block of @p ram is mapped no more, so it is to be located anew; else why it
 * could not be found out, and @p ram is as it was
 */
int guest_ram_find_plugged(const struct fsroot *root, pid_t pid, struct guest_ram *ram,
                           struct error *error);

/** Sets unclaimed_bytes, and how much of it is resident now: all of it where that cannot be
 * counted. @p unseen_bytes: besides, QEMU's address space has so much which was not looked at. */
void guest_ram_count_unclaimed(const struct fsroot *root, pid_t pid, struct guest_ram *ram,
                               uint64_t unseen_bytes);
