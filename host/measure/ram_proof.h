// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file ram_proof.h  Proves which memory of a process is RAM of its KVM guest, and at which
 * guest-physical addresses.
 *
 * Theory of operation. KVM's mapping of a page is dropped (pagemap_invalidate()); if the guest then
 * touches the page, it faults at a guest-physical address that a tracepoint shows. So some random
 * pages of a mapping are dropped, and the faults are compared with them. In a memory slot all pages
 * have the same difference between host virtual and guest-physical address, so the most frequent
 * difference is the hypothesis.
 *
 * A hypothesis is then tested with randomness of our own only. It predicts for some pages the
 * address at which each would fault. In each round a coin decides for each page whether it is
 * dropped. If the hypothesis is wrong, faults at the predicted address are independent of the coin,
 * whatever the guest does and however its pages are arranged: for each fault, the page was dropped
 * with a probability of 1/2. So among n faults the number of dropped pages is binomial. A
 * hypothesis is proved if the probability of so many is below 1e-12, over all hypotheses tried and
 * all rounds after which one was judged (53 of 53; 58 of 59).
 *
 * KVM may map a huge page of the host by one mapping. Then a fault anywhere in it counts, and a
 * coin is thrown for each huge page. If a hypothesis is about smaller pages, the coin chooses
 * between the page and another one in the same huge page, so that the test fails if KVM maps both
 * by one mapping.
 *
 * Nothing is written to the process and nothing has to be restored: see method/zap.c.
 */
#pragma once

#include "guest/domain/domain.h"
#include "guest/ram/guest_ram.h"

/** The last proof of a process that failed; starts as all zero. */
struct ram_trial {
    struct error why;  /* code 0: none has failed */
    uint64_t until_ns; /* none is tried before */
    uint64_t wait_ns;
};

/**
 * Finds the guest's RAM: for a QEMU by its configuration (guest_ram_locate()); by proof for another
 * VMM, and for a QEMU with KVM whose configuration is not known, or suits several mappings. The
 * first mapping of such a QEMU is its RAM, all others may be.
 * @param trial  NULL: a proof is tried at once. Otherwise one that has failed is not tried again
 * for half a minute, and each time for twice as long, up to ten minutes: it drops thousands of
 * pages, and an idle guest will fail again.
 * @return 0; as guest_ram_locate(); where a proof is needed -ENXIO if the guest touched too little
 * for it, -ENOTUNIQ if the process has two virtual machines; -EACCES, -EPERM
 */
int ram_find(const struct fsroot *root, const struct guest *guest, struct guest_ram *out,
             struct ram_trial *trial, struct error *error);
