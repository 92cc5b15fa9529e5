// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file first_mapping.h  Accounts for file pages that QEMU maps for the first time, together with
 * their neighbours: for methods that count accessed bits of QEMU's page tables.
 *
 * Theory of operation. A read fault on RAM that is backed by a file maps up to 16 pages that the
 * file has in memory, an aligned 64 KiB (mm/memory.c, do_fault_around()), and since Linux 6.18 all
 * of a large folio (mm/filemap.c, filemap_map_pages()), on x86 each with its accessed bit. So if
 * QEMU does not map pages that its file has - a template with share=off, a live update with
 * x-ignore-shared, a file that outlived a guest, or an MADV_PAGEOUT by another process - one touch
 * reads as 16: 256 instead of 16.0 MiB. A page that the file does not have yet is mapped alone,
 * unless another process puts it and its neighbours there first, by its own mapping of the file.
 *
 * So the pages that the file has and QEMU does not map are noted before the others are marked. If
 * such pages of a range are mapped when they are read, between one and all of them were touched.
 * Possibly no such page was touched, if the fault may have been for a page that the file did not
 * have, or that was written since through a private mapping: those pages count as they are, each
 * having cost QEMU a fault. If there are more of them than faults, others have put some into the
 * file: 123 instead of 8.0 MiB. Then they, too, count as between one of a range and all.
 */
#pragma once

#include "guest/ram/target.h"

struct first_mapping;

/** 0 or a negative errno; *@p out stays NULL if no RAM is backed by a file. */
int first_mapping_open(const struct target *target, struct first_mapping **out,
                       struct error *error);

/** Notes the pages that are not mapped, before any page is marked. 0 or a negative errno. */
int first_mapping_begin(struct first_mapping *first);

struct first_mapped {
    uint64_t all;   /* mapped since the beginning, whether the file had the page before or not */
    uint64_t pages; /* part of all: the file had the page before, or others may have put it there */
    uint64_t touched; /* the least number of these that were touched */
    /* mapped at the beginning, still in the file, and not mapped now: another process has unmapped
     * them */
    uint64_t unmapped;
};

/** It may be called again; it counts from the beginning. 0 or a negative errno. */
int first_mapping_count(struct first_mapping *first, struct first_mapped *out);

/** Returns true if the file had the page at the beginning, though QEMU did not map it. */
bool first_mapping_held(const struct first_mapping *first, uint64_t page);

/** The largest number of pages that one touch may have mapped; for a file on a disk, all that is
 * mapped. */
uint64_t first_mapping_reach(const struct first_mapping *first, uint64_t mapped_pages);

/** qemu_process_faults() at the beginning and now. */
struct faults {
    uint64_t begun, now;
};

/** Returns true if QEMU's faults are fewer than @p units, so that others have mapped or made some
 * of these. @p each: the number of units that one of them stands for, if they are a sample: then
 * true means beyond chance. */
bool faults_are_fewer(const struct faults *faults, uint64_t units, double each);

/** NULL is allowed. */
void first_mapping_close(struct first_mapping *first);
