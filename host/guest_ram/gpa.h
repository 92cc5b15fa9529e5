// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file gpa.h  Guest-physical addresses of guest RAM on x86 machine types.
 *
 * Boot RAM (everything but DIMMs) is one stretch that begins at address 0; what does not fit below
 * the PCI hole continues at 4 GiB. How much fits below depends on the machine type and the amount
 * of RAM. Machine types from 7.1 on, with an AMD vCPU, continue at 1 TiB instead if the map would
 * otherwise reach the 12 GiB below it, which AMD's I/O virtualization keeps for itself; the map has
 * in it what may be plugged (maxmem, a GiB more for each slot) and the hole for 64-bit PCI. Source:
 * QEMU 7.2 hw/i386/pc_piix.c pc_init1(), pc_q35.c pc_q35_init(), pc.c pc_memory_init() and
 * pc_max_used_gpa(), microvm.c; hw/core/numa.c for the order of NUMA backends. The layout is a
 * deduction: a method that relies on it proves it on the running guest.
 */
#pragma once

#include "base/error.h"
#include "guest_ram/guest_ram.h"

struct gpa_layout {
    uint64_t boot_bytes; /* boot RAM, below and above the hole */
    uint64_t low_bytes;  /* of it below the hole */
    uint64_t high_begin; /* the GPA of what is above it */
};

/** -ENOTSUP for machine types whose layout is not known. @p root: to read the host's CPU. */
int gpa_layout_deduce(const struct fsroot *root, const struct qemu_process *process,
                      const struct guest_ram *ram, struct gpa_layout *out, struct error *error);

#define GPA_NONE UINT64_MAX

/** GPA of page number @p page; GPA_NONE for a page of a DIMM. */
uint64_t gpa_of_page(const struct gpa_layout *layout, const struct guest_ram *ram, uint64_t page);

/** Page number at @p gpa; GPA_NONE when there is no boot RAM. */
uint64_t gpa_to_page(const struct gpa_layout *layout, const struct guest_ram *ram, uint64_t gpa);
