// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_ram.h  Where in the QEMU process the guest's RAM is mapped.
 *
 * Pages of guest RAM are numbered 0 .. n_pages - 1 through the blocks in order; page numbers are in
 * units of the base page (base/page_sizes.h), whatever the block's own page size.
 */
#pragma once

#include "base/error.h"
#include "base/page_sizes.h"
#include "guest/domain/domain.h"

#define GUEST_RAM_MAX_BLOCKS RAM_CONFIG_MAX_BACKENDS

enum ram_backing {
    RAM_BACKING_ANON,    /* private anonymous memory */
    RAM_BACKING_SHMEM,   /* memfd, or a file on tmpfs: pages live in the page cache */
    RAM_BACKING_HUGETLB, /* hugetlbfs, whether private or shared, memfd or file */
    RAM_BACKING_FILE,    /* a file on a disk file system */
};

/** "anon", "shmem", "hugetlb", "file". */
const char *ram_backing_name(enum ram_backing backing);

/** One RAM block: a contiguous range of the process's address space. */
struct ram_block {
    char id[64];  /* of the memory backend; may be empty */
    uint64_t hva; /* host virtual address */
    uint64_t bytes;
    uint64_t beyond_bytes; /* so much of its end the guest does not have: hugetlb rounds up */
    uint64_t first_page;   /* number of its first page */
    enum ram_backing backing;
    bool shared;    /* mapped rw-s */
    bool locked;    /* mlock: reclaim and MADV_PAGEOUT/COLD leave it alone */
    bool mergeable; /* KSM may merge its pages */
    bool dimm;
    unsigned node;        /* the number of its NUMA node of the guest, plus 1; 0: not known */
    uint64_t page_bytes;  /* of the mapping: the base page, or the hugetlb page size */
    uint64_t file_offset; /* where in the backing file the block begins; shmem, hugetlb and file */
    uint64_t inode;
    char path[256];
    uint64_t first_vma_bytes; /* of the first of its VMAs, which names it in /proc/PID/map_files */
    bool whole_file; /* shmem: it is all of the file, whose size in memory is then its own */
    /* As found when located; they change while the guest runs: */
    uint64_t resident_bytes; /* of shmem what the file holds, mapped or not */
    uint64_t mapped_bytes;   /* what the process's page tables map */
    uint64_t swapped_bytes;
    uint64_t huge_bytes; /* mapped by PMD (transparent huge pages), or hugetlb */
};

/** Host virtual addresses that belong to another panel. */
struct taken_span {
    uint64_t hva, bytes;
};

struct taken {
    uint64_t n;
    struct taken_span *spans; /* ascending, none over the next */
    bool unmaps;              /* that panel unmaps a page of each, until it is touched */
};

/* Linux guests take memory in sections of 128 MiB; a graphics card has less. */
#define RAM_DIMM_MIN_BYTES (128ULL << 20)

/* What is mapped while a guest is followed is no graphics card's: those cannot be plugged, and the
 * ROM of a network card, which can, is smaller than this. */
#define RAM_PLUGGED_MIN_BYTES (1ULL << 20)

/** A mapping that is made like a RAM block, or as far as /proc/PID/maps tells, and that no
 * configured backend took. */
struct ram_other {
    uint64_t hva, end;
    uint64_t last_hva; /* where the last of its VMAs begins */
    bool unclaimed;    /* it may be RAM of the guest */
};

struct guest_ram {
    uint64_t bytes;
    uint64_t n_pages;
    size_t n_blocks;
    struct ram_block *blocks;
    size_t n_others;
    struct ram_other *others;
    uint64_t unclaimed_bytes; /* the sum over those others which are unclaimed: a DIMM, say, that
                                 was plugged since the command line was written; and what could not
                                 be looked at. plugged.h */
    uint64_t unclaimed_resident_bytes;
    const struct taken *taken; /* borrowed: what no panel may draw; NULL: all may be drawn */
};

/**
 * Finds the RAM blocks of @p process as @p config describes them. Rule: a run of contiguous VMAs
 * with perms rw-p or rw-s and VmFlags dc, followed by a ---p guard, whose size is that of a
 * configured backend (QEMU util/mmap-alloc.c, softmmu/physmem.c ram_block_add()). Same-sized
 * candidates are distinguished by backing and path; what then remains ambiguous, or is missing, is
 * refused and the message lists what was seen. VRAM, ROMs and DIMMs plugged later satisfy the rule
 * too: what no backend's size asks for is never taken for RAM, so with the command line as @p
 * config DIMMs plugged since the start are not seen. A configured DIMM that is not mapped was
 * unplugged and is left out: out->bytes is then smaller than config->total_bytes. What cannot be
 * measured at all is refused by name: RAM in guest_memfd, base pages of a size that no method was
 * verified with.
 * @return 0; -ENOTSUP such; -ENOTUNIQ ambiguous; -ENXIO a configured block was not found; else as
 * smaps_walk().
 *         The caller frees with guest_ram_free().
 */
int guest_ram_locate(const struct fsroot *root, const struct qemu_process *process,
                     const struct ram_config *config, struct guest_ram *out, struct error *error);
void guest_ram_free(struct guest_ram *ram);

/** Is it mapped page by page from a page cache: of tmpfs, a memfd or a disk? Not hugetlb. */
bool ram_block_is_file(const struct ram_block *block);

/** Is any of it a file on a disk? */
bool guest_ram_on_disk(const struct guest_ram *ram);

/** Does any of the blocks lie in @p start .. @p end? */
bool guest_ram_overlaps(const struct guest_ram *ram, uint64_t start, uint64_t end);

/** The block that holds page number @p page (< n_pages). */
const struct ram_block *guest_ram_block(const struct guest_ram *ram, uint64_t page);

/** Host virtual address of page number @p page (< n_pages). */
uint64_t guest_ram_hva(const struct guest_ram *ram, uint64_t page);

/** Sums over the blocks. */
uint64_t guest_ram_resident_bytes(const struct guest_ram *ram);

/** Sorts @p n spans of equal size, and drops those that are there twice; returns how many are
 * left. */
uint64_t taken_sort(struct taken_span *spans, uint64_t n);

/** Is the page at @p hva taken? */
bool taken_has(const struct taken *taken, uint64_t hva);

/** Which share of @p ram is taken, 0 .. 1. */
double taken_share(const struct taken *taken, const struct guest_ram *ram);
