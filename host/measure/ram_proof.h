// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file ram_proof.h  Proves which memory of a process is RAM of its KVM guest, and at which
 * guest-physical addresses.
 *
 * Theory of operation. KVM's mapping of a page is dropped (pagemap_invalidate()); if the guest then
 * touches the page, it faults at a guest-physical address that a tracepoint shows. So some pages of
 * a mapping are dropped, at random, and the faults are held against them: a memory slot has one
 * difference of host virtual and guest-physical addresses, so the difference on which most faults
 * agree is the hypothesis.
 *
 * A hypothesis is then put to a test in which chance has no part but our own. It says for each of
 * some pages at which address this page would fault. In each round a coin decides for each page
 * whether it is dropped. If the hypothesis is wrong, whether there is a fault at that address has
 * nothing to do with the coin, whatever the guest does and however its pages are arranged: a fault
 * has the coin on its side with a probability of 1/2. So of n faults the number with the coin on
 * their side is binomial; a hypothesis is proved if so many were to be expected with a probability
 * below 1e-12, over all hypotheses that were tried and all rounds after which one was judged (53 of
 * 53; 58 of 59).
 *
 * KVM may map a huge page of the host by one mapping. Then a fault anywhere in it counts, and the
 * coin is thrown for each huge page. Where a hypothesis is about smaller pages, the coin chooses
 * between the page and another one in the same huge page, so that it fails if KVM maps both by one.
 *
 * Nothing is written to the process and nothing has to be restored: see method/zap.c.
 */
#pragma once

#include "guest/domain/domain.h"
#include "guest/ram/guest_ram.h"

/**
 * Finds the guest's RAM: for a QEMU by its configuration (guest_ram_locate()), for another VMM by
 * proof.
 * @return 0; as guest_ram_locate(); for another VMM -ENXIO if its guest touched too little for a
 * proof, -ENOTUNIQ if the process has two virtual machines; -EACCES, -EPERM
 */
int ram_find(const struct fsroot *root, const struct guest *guest, struct guest_ram *out,
             struct error *error);
