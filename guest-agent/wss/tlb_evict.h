// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file tlb_evict.h  Makes the CPUs flush the TLB entries of all other processes, only by context
 * switches.
 *
 * Theory of operation. Neither clear_refs nor page_idle flushes the TLB, and touching a page whose
 * translation is in the TLB does not set its accessed bit: windows of 50 ms over a loop of 1 MiB
 * saw between 60 KiB and all of it. Each CPU has six address space numbers (TLB_NR_DYN_ASIDS in
 * arch/x86/mm/tlb.c, since Linux 4.14), which the kernel assigns in turn; a process that has lost
 * its number gets another one, which is flushed. Before 4.14, and without PCID, each switch to
 * another process flushes. So it suffices that six new address spaces run once on a CPU: some
 * forked children visit all CPUs and end.
 *
 * Refilling the TLB costs microseconds. Memory, page tables and LRU lists do not change. It does
 * not work on CPUs where we may not run (a cpuset), nor for address spaces with a global number,
 * used with AMD's INVLPGB (Linux 6.15), which hypervisors rarely offer to guests.
 */
#pragma once

/** Returns 0, also if some CPU could not be visited; -EINTR as soon as *interrupted (which may be
 * NULL) is not 0, after the children have ended; or a negative errno if no child could be forked.
 * On two busy CPUs it took 20 ms, mostly for the children's start and end. */
int tlb_evict(const volatile int *interrupted);
