// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_smaps.h  Sums of smaps fields over the guest RAM: one walk of QEMU's page tables. */
#pragma once

#include "base/error.h"
#include "sample/target.h"

struct ram_smaps {
    uint64_t resident_bytes;   /* mapped by base pages or THP */
    uint64_t referenced_bytes; /* of these: accessed bit, PG_young or PG_referenced set */
    uint64_t hugetlb_bytes;    /* resident too, but smaps counts no references of hugetlb pages */
    uint64_t swapped_bytes;
    uint64_t shared_bytes; /* mapped more than once */
    uint64_t huge_bytes;   /* mapped by a PMD */
};

int ram_smaps_read(const struct target *target, struct ram_smaps *out, struct error *error);
