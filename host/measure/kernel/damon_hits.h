// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file damon_hits.h  Records the pages of KVM guests whose accessed bits DAMON has cleared.
 *
 * A kdamond samples one page of each of its regions at a time: it clears the page's accessed bits,
 * KVM's included, and sets its idle flag whether or not they were set (mm/damon/ops-common.c,
 * damon_ptep_mkold()). A method that relies on the accessed bits or on the idle flag misses an
 * earlier touch. DAMON_STAT, which recent kernels enable by default, permanently samples all of
 * physical memory: up to 1,000 pages each sampling interval, which it tunes between 5 ms and 10 s
 * (mm/damon/stat.c). The kernel does not record these pages. But for each of them it calls KVM,
 * whether or not KVM maps the page, and that call has a tracepoint (kvm:kvm_age_hva,
 * virt/kvm/kvm_main.c kvm_mmu_notifier_clear_young()), which this file records on the kdamond's
 * thread only. In the lab DAMON_STAT cleared 6 to 18 bits a second of a guest of 256 MiB.
 *
 * One record serves all guests of this process: with one event per guest, the kernel would run each
 * event's filter for each page. The record has addresses but no process, so a page of another QEMU
 * at the same address counts too, and widens a bound. The kernel does not call KVM for a TCG guest.
 * Recording requires that DAMON_STAT is the only user of DAMON: a kdamond that is configured in
 * sysfs may watch another process that maps guest RAM, and users other than DAMON_STAT also move
 * pages.
 *
 * Call these functions from one thread only.
 */
#pragma once

#include "base/fsroot.h"

#include <sys/types.h>

/** A position in the record. */
struct damon_mark {
    bool active;    /* another user of DAMON was on */
    bool traced;    /* DAMON's clearing is recorded */
    uint64_t place; /* position in the record */
    /* epoch of the record: incremented whenever recording restarts */
    uint64_t epoch;
};

/** Returns the current position. Starts recording if DAMON_STAT is on and is the only user of
 * DAMON; stops it otherwise. */
struct damon_mark damon_mark_now(const struct fsroot *root);

/**
 * Calls @p visit for the pages from @p low up to @p high whose bits were cleared since @p mark; a
 * page may come several times.
 * @return 0; -ENODATA if some of these pages are not known, because DAMON was not recorded for some
 * time since @p mark.
 */
int damon_hits_since(const struct fsroot *root, const struct damon_mark *mark, uint64_t low,
                     uint64_t high, void (*visit)(uint64_t hva, uint64_t bytes, void *context),
                     void *context);
