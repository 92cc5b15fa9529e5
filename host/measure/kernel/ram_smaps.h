// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_smaps.h  Sums of smaps fields over guest RAM, and over the rest of QEMU's memory, by
 * one walk of its page tables. */
#pragma once

#include "base/error.h"
#include "guest/ram/target.h"

struct ram_smaps {
    uint64_t resident_bytes; /* mapped by base pages or THP */
    /* part of resident_bytes: accessed bit, PG_young or PG_referenced set */
    uint64_t referenced_bytes;
    uint64_t hugetlb_bytes; /* also resident; smaps counts no references to hugetlb pages */
    uint64_t swapped_bytes;
    uint64_t shared_bytes; /* mapped more than once */
    uint64_t huge_bytes;   /* mapped by a PMD */
    /* page table entries that map reclaimable pages (neither locked nor hugetlb) */
    uint64_t leaves;
    /* QEMU's own anonymous and shared memory, except pages that are on no LRU list */
    uint64_t own_bytes;
    uint64_t own_referenced_bytes; /* lower bound of the referenced part of own_bytes */
    /* memory possibly referenced as well, unless the references were to pages of a file */
    uint64_t own_doubtful_bytes;
    /* the part of own_bytes that is also mapped into the guest, such as video RAM (MADV_DONTFORK)
     */
    uint64_t own_mapped_bytes;
};

/** Reads guest RAM only: the walk ends after the last block, and own_bytes and the following
 * members stay 0. */
int ram_smaps_read(const struct target *target, struct ram_smaps *out, struct error *error);

/** Reads all of QEMU's memory. */
int ram_smaps_read_own(const struct target *target, struct ram_smaps *out, struct error *error);
