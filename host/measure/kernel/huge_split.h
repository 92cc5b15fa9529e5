// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file huge_split.h  Splits transparent huge pages of another process, and joins (collapses) them
 * again.
 *
 * Splitting: MADV_COLD on a part of a huge page splits its mapping and its folio when no other
 * process maps it (mm/madvise.c, madvise_cold_or_pageout_pte_range()); that part also loses its
 * accessed bit and its place on the active list. The call does not report whether it split the
 * page, so the mapping is checked afterwards. Since Linux 6.12 a split frees sub-pages that hold
 * only zeros, and they read from the shared zero page (mm/huge_memory.c, __split_huge_page()).
 *
 * Joining: MADV_COLLAPSE (Linux 6.1, also of another process with CAP_SYS_NICE: mm/madvise.c,
 * process_madvise_behavior_valid()) allocates a huge page and copies, regardless of
 * /sys/kernel/mm/transparent_hugepage, but not if QEMU disabled huge pages (prctl,
 * MADV_NOHUGEPAGE). It holds QEMU's mmap lock for writing while it copies, so the guest's faults
 * wait. It fails if memory is short, while something holds a reference to a sub-page, or if all
 * sub-pages hold only zeros. Both operations fire the MMU notifiers, so KVM maps small pages after
 * a split and large ones after a join.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/**
 * Splits the huge page at @p hva, a multiple of huge_page_bytes().
 * @param pagemap_fd  of the process (pagemap_open())
 * @return 0; -EBUSY when it is still mapped huge (pinned, or shared after a fork); else as
 * process_advise()
 */
int huge_split(int pidfd, int pagemap_fd, uint64_t hva);

/** Makes the huge_page_bytes() at @p hva one huge page; also 0 if it already is one. -EAGAIN,
 * -ENOMEM, -EBUSY: may succeed later; -EINVAL: probably never will, also returned before Linux 6.1;
 * -EPERM; -ESRCH. */
int huge_join(int pidfd, uint64_t hva);

/**
 * Joins all of hva[0..n) again; entries of 0 are skipped, and entries that are done become 0.
 * Failures are retried for up to a second. Memory that the guest has returned to the host meanwhile
 * (balloon) is not joined, because that would populate it.
 * @return number of entries that could not be joined; 0 when the process is gone.
 */
size_t huge_join_all(int pidfd, int pagemap_fd, uint64_t *hva, size_t n);
