// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_smaps.h  Sums of smaps fields over the guest RAM, and over the rest of QEMU: one walk
 * of its page tables. */
#pragma once

#include "base/error.h"
#include "guest/ram/target.h"

struct ram_smaps {
    uint64_t resident_bytes;   /* mapped by base pages or THP */
    uint64_t referenced_bytes; /* of these: accessed bit, PG_young or PG_referenced set */
    uint64_t hugetlb_bytes;    /* resident too, but smaps counts no references of hugetlb pages */
    uint64_t swapped_bytes;
    uint64_t shared_bytes; /* mapped more than once */
    uint64_t huge_bytes;   /* mapped by a PMD */
    uint64_t leaves; /* entries of page tables that map what reclaim may take: no locked, no hugetlb
                        pages */
    /* QEMU's own anonymous and shared memory, without what is on no LRU list: */
    uint64_t own_bytes;
    uint64_t own_referenced_bytes; /* of these, as above, as many at least */
    uint64_t own_doubtful_bytes;   /* and so many more, unless those are pages of a file */
    uint64_t own_mapped_bytes;     /* of these: mapped into the guest, too, as video RAM is
                                      (MADV_DONTFORK) */
};

/** Of guest RAM only: the walk ends behind the last of it, own_bytes and what follows stay 0. */
int ram_smaps_read(const struct target *target, struct ram_smaps *out, struct error *error);

/** Of all that QEMU has. */
int ram_smaps_read_own(const struct target *target, struct ram_smaps *out, struct error *error);
