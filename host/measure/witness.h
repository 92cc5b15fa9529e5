// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file witness.h  A second opinion on a measurement by accessed bits: which of its pages did a
 * vCPU touch? KVM guests only.
 *
 * Accessed bits tell that a page was touched by anyone: a debugger that reads guest RAM, QEMU's
 * monitor, a dirty-rate calculation. They can also be taken by anyone: another page_idle user,
 * DAMON, reclaim. The witness drops KVM's mapping of some of the measured pages right after they
 * were marked (pagemap_invalidate()), and the faults that follow are touches by vCPUs. Comparing
 * the two page by page finds disturbances that no list has (measure/dispute.h).
 *
 * Right after the marking, because since Linux 6.13 KVM does not pass an accessed bit on when it
 * drops a mapping; before, it does, and the page's idle flag then shows the touch, which is left
 * out. Faults while the method reads its pages are left out: the page
 * may have been touched before or after its own bit was read. Left behind: nothing, as by the
 * method zap.
 */
#pragma once

#include "guest/ram/target.h"
#include "measure/dispute.h"
#include "measure/page_set.h"

struct method;
struct witness; /* opaque */

/** Of a panel that is followed: the counts of a tick fit into a byte each. */
#define WITNESS_MAX_PAGES 255

/** Can a witness be of use: a KVM guest that runs no guests of its own, a method that sees whatever
 * touches a page, and a host where dropping a mapping is possible? Cheap: nothing is tried on the
 * guest. */
bool witness_applies(const struct target *target, const struct method *method);

/**
 * @param pages  how many are to be watched
 * @return 0; -EBUSY when this process watches as many vCPUs as it may at once (some must be left
 *         for those that come after); else as fault_trace_open() and gpa_layout_deduce()
 */
int witness_open(const struct target *target, uint64_t pages, struct witness **out,
                 struct error *why);
void witness_close(struct witness *witness);

/** As a method's wake_fd and poll. */
int witness_wake_fd(const struct witness *witness);
void witness_poll(struct witness *witness);

/**
 * Begins a period: draws pages among those of @p sets that read idle, in one draw of all, and drops
 * their mappings.
 * @param marked_ns  when the marking of the sets began, by clock_ns()
 * A failure costs the measurement nothing: the period then has nothing to say.
 */
void witness_watch(struct witness *witness, const struct page_set *const *sets, size_t n_sets,
                   uint64_t marked_ns);

/** To be called just before the method reads its pages. */
void witness_stop(struct witness *witness);

/**
 * Compares with what the method found, once it has set the states of the pages. The period goes on:
 * touches add up, for a longer window.
 * @param sets  as for witness_watch()
 * @param count  n is 0 where nothing can be said: faults were lost, a vCPU was plugged, or the
 * guest runs guests of its own, whose faults KVM reports at their own addresses
 */
void witness_compare(struct witness *witness, const struct page_set *const *sets,
                     struct witness_count *count);

/** Is it known that a touch would have been seen? May try the method zap on the guest, once. To be
 * asked before others are blamed; witness_compare() does. */
bool witness_can_be_believed(struct witness *witness);

/** Was there no room for another guest's, since this was asked last? Then it is time to close one.
 */
bool witness_is_due_elsewhere(void);
