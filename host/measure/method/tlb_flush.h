// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file tlb_flush.h  The TLB flush that must follow after accessed bits were cleared.
 *
 * Clearing an accessed bit does not flush the TLB, and an access through a translation that stayed
 * cached sets no bit: a hot page then reads idle. So after all pages are marked the TLB is flushed
 * once:
 *   - for a KVM guest by dropping mappings of its pages (pagemap_invalidate(), Linux 6.7), which
 *     ends in a flush of the whole VM if KVM had any of them mapped. Pages that were present when
 *     they were marked are dropped until KVM's counter of flushes shows a flush; if the counter
 *     cannot be read, DROPS_UNSEEN pages are dropped. On arm64 a drop flushes only that page, with
 *     the translations of the guest's own tables (arch.h, drop_flushes_vm). So all units that read
 *     idle are dropped, each in as many pieces as KVM may map it in. If there are fewer pieces than
 *     DROPS_MAX, no unit has a stale translation; if there are more, no unit is dropped, and all
 *     are in doubt.
 *   - for a TCG guest by MADV_COLD on all of its RAM, which clears the bits once more, with a flush
 *     if any was set again, and puts the pages on the inactive list. Without it a TCG guest with a
 *     hot set of 4,101 pages read 82 in the lab. It costs a walk of QEMU's page tables, for a panel
 *     too. The flush covers the pages whose bit was set again; it covers all pages only if those
 *     lie more than 33 pages apart (pages of 2 MiB, if they are huge;
 *     tlb_single_page_flush_ceiling). If a guest touches fewer, a translation may stay stale,
 *     unseen: a guest with 32 hot huge pages and its stack in another one read 32 once in some
 *     hundred runs. This error is neither cured nor flagged.
 * If neither is possible (KVM before 6.7, locked memory), a hot set that the TLB holds may read
 * low: some MiB of 4 KiB pages, gigabytes of huge ones. The tally is then in doubt, by as many
 * units as the TLBs can hold. This matters if a vCPU keeps its core and TLB entries are tagged with
 * its address space, as VPID and ASID do on hardware. The lab cannot show it for KVM, because its
 * emulated SVM flushes at entry and exit: with and without the drops, a guest with 1.02, 4.02 or
 * 16.02 MiB hot read exactly that, five times out of five (tests/bench/stale-tlb --lab). The same
 * test shows with a TCG guest that the error is real and that a flush cures it.
 */
#pragma once

#include "guest/ram/target.h"
#include "measure/page_set.h"

/** Returns true if the TLB is flushed now, or if there was nothing to flush. @p pagemap_fd comes
 * from pagemap_open(). */
bool tlb_flush(const struct target *target, const struct page_set *set, int pagemap_fd);

/** As tlb_flush(), with some thousands of the guest's pages, for callers that hold no page set; it
 * uses no page in ram->taken. */
bool tlb_flush_guest(const struct target *target);

/** Notes in @p tally that the TLB was not flushed. */
void tlb_doubt(const struct target *target, struct tally *tally);
