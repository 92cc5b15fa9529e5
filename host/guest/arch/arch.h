// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file arch.h  What differs by architecture: where QEMU's machine types have RAM, and what KVM
 * shows of a guest's page faults and mappings. Page sizes differ by kernel: base/page_sizes.h.
 *
 * Each architecture is one file, and one line of the table in arch.c.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "guest/domain/qemu_cmdline.h"

/** Where boot RAM (everything but DIMMs) is in guest-physical memory: one stretch, or two. */
struct gpa_layout {
    uint64_t boot_bytes; /* boot RAM, both stretches */
    uint64_t low_begin;  /* the GPA of the first */
    uint64_t low_bytes;  /* so much of it */
    uint64_t high_begin; /* the GPA of the second, which has the rest */
};

/** A parameter of a kernel module, below /. */
struct kvm_parameter {
    const char *path, *remedy;
};

struct arch {
    const char *name;
    bool host;                    /* this program was built for it */
    const char *const *emulators; /* QEMU's binaries that emulate it; ends with NULL */
    /* The tracepoint of a fault for which KVM maps a page, in tracefs' and in perf's spelling, and
     * its 64-bit field that has the guest-physical address: */
    const char *fault_event, *fault_event_perf, *fault_field;
    /* What must not be off, or that address is no GPA, or not every first touch a fault; ends with
     * a path that is NULL: */
    const struct kvm_parameter *kvm_parameters;
    bool drop_flushes_vm; /* KVM ends a drop of mappings by the MMU notifier in a flush of all of
                             the VM's translations, and counts it: else in one of those dropped */
    bool drop_reports_accessed; /* KVM before 6.13 reports the page as accessed when it drops an
                                   accessed mapping; else when it makes one */
    uint64_t in_pieces_bytes;   /* so much from the begin of boot RAM on KVM maps in base pages,
                                   whatever the host does */
    bool counts_mapped; /* KVM has the counters pages_4k, pages_2m and pages_1g (kvm_stats.h) */
    /**
     * Fills @p layout, whose boot_bytes is set, by the machine type.
     * @param root  to read the host's CPU
     * @return 0; -ENOTSUP the layout of that machine type is not known
     */
    int (*lay_out)(const struct fsroot *root, const struct qemu_cmdline *config,
                   struct gpa_layout *layout, struct error *error);
};

extern const struct arch arch_x86_64, arch_arm64;

/** That of this host. */
const struct arch *arch_host(void);

/** That of the guests of QEMU's binary @p exe (a path); the host's for a name that has none
 * ("qemu-kvm", ""), NULL for one that is not in the table ("qemu-system-s390x"). */
const struct arch *arch_of_emulator(const char *exe);

/** Is @p machine ("pc-q35-7.2") of the family ("pc-q35"), by how it begins? */
bool arch_is_machine(const char *machine, const char *family);

/** For lay_out(): -ENOTSUP, with the machine type's name in @p error. */
int arch_refuse_machine(const char *machine, struct error *error);
