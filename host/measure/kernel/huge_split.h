// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file huge_split.h  Splits transparent huge pages of another process, and puts them together
 * again.
 *
 * Splitting: MADV_COLD on a part of a huge page splits its mapping and its folio when no other
 * process maps it (mm/madvise.c, madvise_cold_or_pageout_pte_range()); that part also loses its
 * accessed bit and its place on the active list. It says nothing of whether it did, so the mapping
 * is looked at. Since Linux 6.12 sub-pages that hold only zeros are freed by it and read from the
 * shared zero page (mm/huge_memory.c, __split_huge_page()).
 *
 * Joining: MADV_COLLAPSE (Linux 6.1, also of another process with CAP_SYS_NICE: mm/madvise.c,
 * process_madvise_behavior_valid()) allocates a huge page and copies. It does so whatever
 * /sys/kernel/mm/transparent_hugepage says, but not where QEMU asked for no huge pages (prctl,
 * MADV_NOHUGEPAGE). It takes QEMU's mmap lock for writing while it copies, so a fault of the guest
 * waits for that long. It fails for want of memory, while something holds a reference to a
 * sub-page, and where all of them hold only zeros. Both fire the MMU notifiers, so KVM maps small
 * pages after the one, and large ones after the other.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/**
 * Splits the huge page at @p hva, a multiple of huge_page_bytes().
 * @param pagemap_fd  of the process (pagemap_open())
 * @return 0; -EBUSY when it is mapped huge all the same (pinned, or shared after a fork); else as
 * process_advise()
 */
int huge_split(int pidfd, int pagemap_fd, uint64_t hva);

/** Makes the huge_page_bytes() at @p hva one huge page; 0 also if it is one. -EAGAIN, -ENOMEM,
 * -EBUSY: may succeed later; -EINVAL will probably not, and before Linux 6.1; -EPERM; -ESRCH. */
int huge_join(int pidfd, uint64_t hva);

/**
 * Joins all of hva[0..n) again, where an entry of 0 is none; what needs no joining any more becomes
 * 0. A failure is tried again for up to a second. What the guest gave back to the host in the
 * meantime (balloon) stays as it is: joining would populate it.
 * @return how many could not be joined. None when the process is gone.
 */
size_t huge_join_all(int pidfd, int pagemap_fd, uint64_t *hva, size_t n);
