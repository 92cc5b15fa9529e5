// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file arm64.c  arm64: RAM of the machine type `virt` is one stretch from 1 GiB on.
 *
 * Source: QEMU 7.2 hw/arm/virt.c, base_memmap[VIRT_MEM], which qemu-system-arm has too; memory that
 * can be plugged lies behind it. Linux: arch/arm64/kvm/mmu.c, kvm_handle_guest_abort(), which also
 * traces accesses to devices, and trace_arm.h; hyp/vhe/tlb.c, __kvm_tlb_flush_vmid_ipa(). Stage 2
 * is always two-dimensional paging, and KVM counts no mappings by their sizes.
 */
#include "guest/arch/arch.h"

#include <string.h>

#define RAM_BEGIN (1ULL << 30)

static int lay_out(const struct fsroot *root, const struct qemu_cmdline *config,
                   struct gpa_layout *layout, struct error *error)
{
    (void)root;
    if (strcmp(config->machine, "virt") != 0 && !arch_is_machine(config->machine, "virt-"))
        return arch_refuse_machine(config->machine, error);
    layout->low_begin = RAM_BEGIN;
    layout->low_bytes = layout->boot_bytes;
    layout->high_begin = RAM_BEGIN + layout->boot_bytes; /* the second stretch is empty */
    return 0;
}

const struct arch arch_arm64 = {
    .name = "arm64",
#ifdef __aarch64__
    .host = true,
#endif
    .emulators = (const char *const[]){"qemu-system-aarch64", "qemu-system-arm", NULL},
    .fault_event = "kvm/kvm_guest_fault",
    .fault_event_perf = "kvm:kvm_guest_fault",
    .fault_field = "ipa",
    .kvm_parameters = (const struct kvm_parameter[]){{NULL, NULL}},
    .drop_flushes_vm = false,
    .drop_reports_accessed = false, /* hyp/pgtable.c, stage2_unmap_put_pte() */
    .in_pieces_bytes = 0,
    .counts_mapped = false,
    .lay_out = lay_out,
};
