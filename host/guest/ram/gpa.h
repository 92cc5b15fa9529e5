// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file gpa.h  Guest-physical addresses of guest RAM.
 *
 * Where boot RAM (everything but DIMMs) lies depends on the architecture and the machine type:
 * guest/arch/ has one file for each architecture. In boot RAM the backends of NUMA nodes follow one
 * another (QEMU 7.2 hw/core/numa.c). The layout is a deduction: a method that relies on it proves
 * it on the running guest.
 */
#pragma once

#include "base/error.h"
#include "guest/arch/arch.h"
#include "guest/ram/guest_ram.h"

/** Deduces the layout. -ENOTSUP for machine types and emulators whose layout is not known. @p root:
 * to read the host's CPU. */
int gpa_layout_deduce(const struct fsroot *root, const struct qemu_process *process,
                      const struct guest_ram *ram, struct gpa_layout *out, struct error *error);

#define GPA_NONE UINT64_MAX

/** GPA of page number @p page; GPA_NONE for a page of a DIMM. */
uint64_t gpa_of_page(const struct gpa_layout *layout, const struct guest_ram *ram, uint64_t page);

/** Page number at @p gpa; GPA_NONE when there is no boot RAM. */
uint64_t gpa_to_page(const struct gpa_layout *layout, const struct guest_ram *ram, uint64_t gpa);

/**
 * Returns the order of the largest piece that KVM may map at once for page @p page, which the host
 * maps as one of 2^@p order base pages. @p order itself for a page of a DIMM.
 *
 * KVM's own tables (EPT, NPT, stage 2) have base pages, huge pages and the next level's pages, but
 * no contiguous hugetlb sizes (64 KiB of 4 KiB pages on arm64). A piece must begin at a multiple of
 * its size in both address spaces: QEMU aligns RAM to 2 MiB only, so a huge page of 32 MiB seldom
 * does. A piece must also end within the memory slot; the last hugetlb page of a guest whose size
 * is not a multiple of it does not. Source: Linux 6.12 arch/arm64/kvm/mmu.c, user_mem_abort() and
 * fault_supports_stage2_huge_mapping(); arch/x86/kvm/x86.c, kvm_alloc_memslot_metadata().
 */
unsigned gpa_kvm_order(const struct gpa_layout *layout, const struct guest_ram *ram, uint64_t page,
                       unsigned order);
