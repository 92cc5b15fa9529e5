// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file kvm_stats.h  KVM's counters of one VM, in debugfs: /sys/kernel/debug/kvm/PID-FD/.
 *
 * pages_4k, pages_2m and pages_1g are the mappings that KVM holds now at each size (Linux 5.15 and
 * later; arch/x86/kvm/x86.c, kvm_update_page_stats()). Source: Documentation/virt/kvm/api.rst,
 * KVM_GET_STATS_FD.
 */
#pragma once

#include "base/error.h"
#include "guest/ram/target.h"

/** Checks that KVM's counters are visible on this host. -ENOENT with the remedy; -ENOTSUP on an
 * architecture whose KVM has no such counters. */
int kvm_stats_host(const struct fsroot *root, struct error *error);

/** Bytes of guest-physical memory, ROM and video RAM included, that KVM maps now. -ENOENT with the
 * remedy when the counters are not there. */
int kvm_mapped_bytes(const struct target *target, uint64_t *bytes, struct error *error);

/** The number of KVM's mapping sizes on x86-64, which these counters have. */
#define KVM_SIZES 3
static const uint64_t kvm_size_bytes[KVM_SIZES] = {4096, 2ULL << 20, 1ULL << 30};

/** As kvm_mapped_bytes(), by size. */
int kvm_mapped_sizes(const struct target *target, uint64_t bytes[KVM_SIZES], struct error *error);

/** Page faults that KVM has resolved by mapping a page (pf_fixed) since the VM began; 0 when
 * unknown. */
uint64_t kvm_faults_fixed(const struct target *target);

/** Number of times that KVM has flushed the TLBs of all vCPUs, at once or before they run again.
 * -ENOENT when unknown. */
int kvm_tlb_flushes(const struct target *target, uint64_t *count);

/** Returns true if this VM is known to have run a nested guest (nested_run > 0). */
bool kvm_runs_nested(const struct target *target);
