// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file first_mapping.h  Pages of a file that QEMU maps for the first time, and its neighbours with
 * it: for methods that count accessed bits of QEMU's page tables.
 *
 * Theory of operation. A read fault on RAM that is a file's maps up to 16 pages that the file has
 * in memory, an aligned 64 KiB (mm/memory.c, do_fault_around()), and since Linux 6.18 all of a
 * large folio (mm/filemap.c, filemap_map_pages()), on x86 each with its accessed bit. So where QEMU
 * does not map what its file has - a template with share=off, a live update with x-ignore-shared, a
 * file that outlived a guest, or an MADV_PAGEOUT by another process - one touch reads as 16: 256 of
 * 16.0 MiB. A page that the file does not have yet comes alone.
 *
 * So the pages that the file has and QEMU does not map are noted before the others are marked. Of
 * those that are mapped when they are read one in each such range was touched, or more, up to all
 * of them; or none, where the fault may have been for a page that the file did not have, or that
 * was written since through a private mapping: those count as they are.
 */
#pragma once

#include "guest/ram/target.h"

struct first_mapping;

/** 0 or a negative errno; *@p out stays NULL where no RAM is a file's. */
int first_mapping_open(const struct target *target, struct first_mapping **out,
                       struct error *error);

/** Notes what is not mapped, before anything is marked. 0 or a negative errno. */
int first_mapping_begin(struct first_mapping *first);

struct first_mapped {
    uint64_t all;      /* mapped since the beginning, in the file before or not */
    uint64_t pages;    /* of these, in the file before */
    uint64_t touched;  /* of these, so many at least were touched */
    uint64_t unmapped; /* mapped at the beginning, in the file still, and not mapped now: another
                          process has unmapped them */
};

/** May be called again; it counts from the beginning. 0 or a negative errno. */
int first_mapping_count(struct first_mapping *first, struct first_mapped *out);

/** Did the file have the page at the beginning, though QEMU did not map it? */
bool first_mapping_held(const struct first_mapping *first, uint64_t page);

/** So many pages one touch may have mapped at most; all that is mapped, of a file on a disk. */
uint64_t first_mapping_reach(const struct first_mapping *first, uint64_t mapped_pages);

/** NULL is fine. */
void first_mapping_close(struct first_mapping *first);
