// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file gpa.h  Guest-physical addresses of guest RAM on x86 machine types.
 *
 * Boot RAM (everything but DIMMs) is one stretch that begins at address 0; what does not fit below
 * the PCI hole continues at 4 GiB. How much fits below depends on the machine type and the amount
 * of RAM. Source: QEMU 7.2 hw/i386/pc_piix.c pc_init1(), pc_q35.c pc_q35_init(), microvm.c;
 * hw/core/numa.c for the order of NUMA backends. The layout is a deduction: whoever relies on it
 * proves it on the running guest.
 */
#pragma once

#include "base/error.h"
#include "guest_ram/guest_ram.h"

struct gpa_layout {
    uint64_t boot_bytes; /* boot RAM, below and above the hole */
    uint64_t low_bytes;  /* of it below the hole */
};

/** -ENOTSUP for machine types whose layout is not known. */
int gpa_layout_deduce(const struct qemu_process *process, const struct guest_ram *ram,
                      struct gpa_layout *out, struct error *error);

#define GPA_NONE UINT64_MAX

/** GPA of page number @p page; GPA_NONE for a page of a DIMM. */
uint64_t gpa_of_page(const struct gpa_layout *layout, const struct guest_ram *ram, uint64_t page);

/** Page number at @p gpa; GPA_NONE when there is no boot RAM. */
uint64_t gpa_to_page(const struct gpa_layout *layout, const struct guest_ram *ram, uint64_t gpa);
