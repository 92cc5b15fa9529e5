// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file tlb_evict.h  Makes the CPUs forget the translations of all other processes, with nothing
 * but context switches.
 *
 * Theory of operation. Neither clear_refs nor page_idle flushes the TLB, and a page whose
 * translation a CPU holds is touched without its accessed bit being set: of a loop over 1 MiB,
 * windows of 50 ms saw between 60 KiB and all. The kernel gives each CPU six address space numbers
 * (TLB_NR_DYN_ASIDS in arch/x86/mm/tlb.c, since Linux 4.14) and hands them round in turn; who comes
 * back without one gets a flushed one. Before, and without PCID, each switch to another process
 * flushes. So it is enough that six new address spaces run on a CPU once: we fork some children,
 * which go round all CPUs and end.
 *
 * Everything on these CPUs fills the TLB again afterwards: microseconds. Memory, page tables and
 * LRU lists stay as they are. What it does not help: CPUs that we may not run on (a cpuset), and
 * address spaces with a global number, which AMD's INVLPGB has brought (Linux 6.15); hypervisors do
 * not commonly show it to guests.
 */
#pragma once

/** 0, also when some CPU could not be visited; -EINTR as soon as *interrupted (which may be NULL)
 * is not 0, with the children ended; or a negative errno when there are no children. On two busy
 * CPUs it took 20 ms, most of it for the children to begin and end. */
int tlb_evict(const volatile int *interrupted);
