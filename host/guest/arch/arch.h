// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file arch.h  Facts that differ by architecture: where QEMU's machine types place RAM, and how
 * KVM shows a guest's page faults and mappings. Page sizes differ by kernel: base/page_sizes.h.
 *
 * Each architecture has one file, and one line in the table of arch.c.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "guest/domain/qemu_cmdline.h"

/** Location of boot RAM (all RAM except DIMMs) in guest-physical memory: one or two ranges. */
struct gpa_layout {
    uint64_t boot_bytes; /* boot RAM, both ranges together */
    uint64_t low_begin;  /* GPA of the first range */
    uint64_t low_bytes;  /* size of the first range */
    uint64_t high_begin; /* GPA of the second range, which has the rest */
};

/** A parameter of a kernel module; its path is relative to the root. */
struct kvm_parameter {
    const char *path, *remedy;
};

struct arch {
    const char *name;
    bool host;                    /* this program was built for it */
    const char *const *emulators; /* QEMU's binaries that emulate it; ends with NULL */
    /* The tracepoint that fires when KVM maps a page for a fault, as named by tracefs and by perf,
     * and its 64-bit field with the guest-physical address: */
    const char *fault_event, *fault_event_perf, *fault_field;
    /* Parameters that must not be off, because otherwise that address is not a GPA, or some first
     * touches do not fault. The last has path NULL: */
    const struct kvm_parameter *kvm_parameters;
    /* true: when the MMU notifier drops mappings, KVM flushes and counts all of the VM's
     * translations; false: it flushes only the dropped ones */
    bool drop_flushes_vm;
    /* when KVM before 6.13 reports a page as accessed. true: when it drops an accessed mapping;
     * false: when it makes a mapping */
    bool drop_reports_accessed;
    /* size of the range at the beginning of boot RAM that KVM always maps in base pages */
    uint64_t in_pieces_bytes;
    bool counts_mapped; /* KVM has the counters pages_4k, pages_2m and pages_1g (kvm_stats.h) */
    /**
     * Fills @p layout by the machine type; its boot_bytes is set by the caller.
     * @param root  to read the host's CPU
     * @return 0; -ENOTSUP the layout of that machine type is not known
     */
    int (*lay_out)(const struct fsroot *root, const struct qemu_cmdline *config,
                   struct gpa_layout *layout, struct error *error);
};

extern const struct arch arch_x86_64, arch_arm64;

/** The architecture of this host. */
const struct arch *arch_host(void);

/** The architecture of the guests of QEMU binary @p exe (a path). A name without an architecture
 * ("qemu-kvm", "") gives the host's; a name that is not in the table ("qemu-system-s390x") gives
 * NULL. */
const struct arch *arch_of_emulator(const char *exe);

/** Returns true if @p machine ("pc-q35-7.2") begins with the name of the family ("pc-q35"). */
bool arch_is_machine(const char *machine, const char *family);

/** For lay_out(): -ENOTSUP, with the machine type's name in @p error. */
int arch_refuse_machine(const char *machine, struct error *error);
