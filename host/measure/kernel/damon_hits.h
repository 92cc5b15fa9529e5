// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file damon_hits.h  From which pages of KVM guests DAMON has taken the accessed bits.
 *
 * A kdamond looks at one page of each of its regions at a time: it clears the page's accessed bits,
 * KVM's included, and sets its idle flag whether or not they were set (mm/damon/ops-common.c,
 * damon_ptep_mkold()). A touch before that is lost to a method that waits for either. DAMON_STAT,
 * which recent kernels have on, does so with all of physical memory for ever: up to 1,000 pages
 * each sampling interval, which it tunes between 5 ms and 10 s (mm/damon/stat.c). Which pages these
 * were is not kept anywhere. But for each of them KVM is asked, whether it maps the page or not,
 * and that is a tracepoint (kvm:kvm_age_hva, virt/kvm/kvm_main.c kvm_mmu_notifier_clear_young()),
 * which is recorded here on the kdamond's thread alone. In the lab DAMON_STAT took 6 to 18 bits a
 * second of a guest of 256 MiB.
 *
 * One record serves all guests of this process, for the kernel would ask each open event's filter
 * at each page. It tells addresses and not whose: a page of another QEMU at the same address counts
 * too, and makes a bound wider. Nothing is asked of KVM for a TCG guest. Only where
 * DAMON_STAT is the only user of DAMON is it recorded: a kdamond that is configured in sysfs may
 * watch a process that maps guest RAM as well, and others than DAMON_STAT also move pages.
 *
 * To be called from one thread only.
 */
#pragma once

#include "base/fsroot.h"

#include <sys/types.h>

/** Where in the record something begins. */
struct damon_mark {
    bool active;    /* DAMON was on, and not for us */
    bool traced;    /* what it takes is recorded */
    uint64_t place; /* in the record */
    uint64_t epoch; /* of the record, which begins anew with another kdamond */
};

/** Now. Recording begins if DAMON_STAT is on, and nothing else that uses DAMON, and ends when it is
 * not. */
struct damon_mark damon_mark_now(const struct fsroot *root);

/**
 * Hands the pages from @p low up to @p high whose bits were taken since @p mark to @p visit; a page
 * may come several times.
 * @return 0; -ENODATA where they are not all known: DAMON runs unrecorded, or did since.
 */
int damon_hits_since(const struct fsroot *root, const struct damon_mark *mark, uint64_t low,
                     uint64_t high, void (*visit)(uint64_t hva, uint64_t bytes, void *context),
                     void *context);
