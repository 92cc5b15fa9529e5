// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file tables.h  Which page tables of its own a nested guest's address is translated by.
 *
 * The walks of the emulated MMU call no plugin, so they are done once more, whenever the emulated
 * TLB may have had to. Both stages have the format of long mode with four levels (AMD64
 * Architecture Programmer's Manual, volume 2, 5.3 and 15.25.5); a guest in another mode is not
 * followed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** The lab's RAM: one range from its address 0. */
struct tables_ram {
    const uint8_t *host;
    uint64_t bytes;
};

/**
 * Calls @p touch with the lab's frame number of each of the guest's tables on the way to @p vaddr.
 * @param nested_cr3  root of the nested tables, which translate the guest's physical addresses
 * @param cr3         the guest's own
 * @return false: a table is not mapped now. The lab may have unmapped it since.
 */
bool tables_walk(const struct tables_ram *ram, uint64_t nested_cr3, uint64_t cr3, uint64_t vaddr,
                 void (*touch)(uint64_t frame));
