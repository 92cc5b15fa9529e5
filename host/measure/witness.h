// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file witness.h  Verifies a measurement by accessed bits: finds which of its pages a vCPU
 * touched. KVM guests only.
 *
 * Accessed bits show every touch of a page, also by a debugger that reads guest RAM, QEMU's
 * monitor, or a dirty-rate calculation. Others can also clear them: another page_idle user, DAMON,
 * reclaim. The witness drops KVM's mapping of some of the measured pages right after they were
 * marked (pagemap_invalidate()), and the faults that follow are touches by vCPUs. Comparing both
 * page by page finds disturbances of any origin (measure/dispute.h).
 *
 * It drops the mappings right after marking, because since Linux 6.13 KVM does not keep the
 * accessed bit of a mapping that it drops. Earlier kernels do, and show the touch in the page's
 * idle flag; such touches are excluded. Faults while the method reads its pages are excluded, too,
 * because the page may have been touched before or after its own bit was read. The witness, like
 * the method zap, leaves nothing behind.
 */
#pragma once

#include "guest/ram/target.h"
#include "measure/dispute.h"
#include "measure/page_set.h"

struct method;
struct witness; /* opaque */

/** For a panel that is followed: the counts of a tick fit into one byte each. */
#define WITNESS_MAX_PAGES 255

/** Returns true if a witness can be of use: a KVM guest that runs no guests of its own, a method
 * that sees every touch of a page, and a host that can drop a mapping. Cheap: it tries nothing on
 * the guest. */
bool witness_applies(const struct target *target, const struct method *method);

/**
 * @param method  the method of the measurement
 * @param pages  number of pages to watch
 * @return 0; -EBUSY when this process already watches the maximum number of vCPUs (some are
 *         reserved for later guests); else as fault_trace_open() and gpa_layout_deduce()
 */
int witness_open(const struct target *target, const struct method *method, uint64_t pages,
                 struct witness **out, struct error *why);
void witness_close(struct witness *witness);

/** As method.wake.fd(). */
int witness_wake_fd(const struct witness *witness);
void witness_poll(struct witness *witness);

/**
 * Begins a period: makes one draw from all idle pages of @p sets together, and drops their
 * mappings. A failure does not affect the measurement: the period then has no result.
 * @param marked_ns  when the marking of the sets began, by clock_ns()
 */
void witness_watch(struct witness *witness, const struct page_set *const *sets, size_t n_sets,
                   uint64_t marked_ns);

/** Ends the counting of faults; call it just before the method reads its pages. */
void witness_stop(struct witness *witness);

/**
 * Compares the faults with the states of the pages that the method has set. The period continues:
 * touches add up, for a longer window.
 * @param sets  as for witness_watch()
 * @param count  n is 0 if there is no result: a vCPU was plugged, or the guest runs guests of its
 * own, whose faults KVM reports at their own addresses
 */
void witness_compare(struct witness *witness, const struct page_set *const *sets,
                     struct witness_count *count);

/** Returns true if a touch would certainly have been seen. May try the method zap on the guest,
 * once. Check this before assuming a disturbance by others; witness_compare() does. */
bool witness_can_be_believed(struct witness *witness);

/** Returns true if another guest's witness found no free rings since the last call. Then close
 * one. */
bool witness_is_due_elsewhere(void);
