// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_ram.h  The location of the guest's RAM in the QEMU process.
 *
 * Pages of guest RAM are numbered 0 .. n_pages - 1 through the blocks in order; page numbers are in
 * units of the base page (base/page_sizes.h), whatever the block's own page size.
 */
#pragma once

#include "base/error.h"
#include "base/page_sizes.h"
#include "guest/domain/domain.h"

struct candidates; /* candidates.h */

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
    char id[64];  /* id of the memory backend; may be empty */
    uint64_t hva; /* host virtual address */
    uint64_t bytes;
    uint64_t beyond_bytes; /* bytes at the end that do not belong to the guest: hugetlb rounds up */
    uint64_t first_page;   /* number of its first page */
    enum ram_backing backing;
    bool shared;    /* mapped rw-s */
    bool locked;    /* mlock: reclaim and MADV_PAGEOUT/COLD leave it alone */
    bool mergeable; /* KSM may merge its pages */
    bool dimm;
    unsigned node;        /* number of its NUMA node in the guest, plus 1; 0: not known */
    uint64_t page_bytes;  /* page size of the mapping: the base page, or the hugetlb page size */
    uint64_t file_offset; /* where in the backing file the block begins; shmem, hugetlb and file */
    uint64_t inode;
    char path[256];
    /* size of its first VMA, which names the block in /proc/PID/map_files */
    uint64_t first_vma_bytes;
    /* shmem: the block covers the whole file, so the file's size in memory is the block's */
    bool whole_file;
    /* As found when the block was located; they change while the guest runs: */
    uint64_t resident_bytes; /* shmem: everything that the file holds, mapped or not */
    uint64_t mapped_bytes;   /* mapped by the process's page tables */
    uint64_t swapped_bytes;
    uint64_t huge_bytes; /* mapped by PMD (transparent huge pages), or hugetlb */
};

/** Host virtual addresses that belong to another panel. */
struct taken_span {
    uint64_t hva, bytes;
};

struct taken {
    uint64_t n;
    struct taken_span *spans; /* ascending, without overlaps */
    /* that panel unmaps one page of each span, until the page is touched */
    bool unmaps;
};

/* Linux guests take memory in sections of 128 MiB; graphics memory is smaller. */
#define RAM_DIMM_MIN_BYTES (128ULL << 20)

/* A guest with room for more may have smaller memory modules, of which the guest may make no use.
 * Memory of this size that no option explains is no firmware, which has 8 MiB at most. */
#define RAM_MODULE_MIN_BYTES (16ULL << 20)

/** Returns true if memory can be plugged into the guest: it has slots, or may have more than it
 * began with (virtio-mem needs no slot). */
static inline bool ram_can_be_plugged(const struct qemu_process *process)
{
    return process->config.memory_slots > 0 ||
           process->config.max_ram_bytes > process->config.ram.total_bytes;
}

/** The least size of a mapping that may have been plugged before it was first seen. */
static inline uint64_t ram_dimm_min_bytes(const struct qemu_process *process)
{
    return ram_can_be_plugged(process) ? RAM_MODULE_MIN_BYTES : RAM_DIMM_MIN_BYTES;
}

/* A mapping that appears while a guest is followed is not graphics memory: graphics cards cannot be
 * plugged. Network cards can, but their ROM is smaller than this. */
#define RAM_PLUGGED_MIN_BYTES (1ULL << 20)

/** A mapping that looks like a RAM block (perhaps by /proc/PID/maps alone) and that no configured
 * backend took. */
struct ram_other {
    uint64_t hva, end;
    uint64_t last_hva; /* where its last VMA begins */
    bool unclaimed;    /* it may be RAM of the guest */
};

/** A stretch of guest-physical memory that KVM was seen to map from these host virtual addresses.
 */
struct ram_slot {
    uint64_t gpa, hva, bytes;
};

struct guest_ram {
    uint64_t bytes;
    uint64_t n_pages;
    size_t n_blocks;
    struct ram_block *blocks;
    size_t n_others;
    struct ram_other *others;
    /* Sum over the unclaimed ones of those others (such as a DIMM plugged after the command line
     * was written), plus the memory that could not be examined. See plugged.h. */
    uint64_t unclaimed_bytes;
    uint64_t unclaimed_resident_bytes;
    /* The part of virtio-mem's blocks in which no page was populated when they were located: QEMU
     * reports only to its monitor how much of it is plugged, and its requested-size may have
     * changed since it began. */
    uint64_t unproved_bytes;
    /* RAM that was proved because no configuration describes it: measure/ram_proof.h. Where one of
     * two neighbours in a mapping ends is known only up to the pages that were seen, so both may
     * have the rest; their guest-physical addresses do not overlap. */
    size_t n_slots;
    struct ram_slot *slots;
    const struct taken *taken; /* borrowed: memory that no panel may draw; NULL: all may be drawn */
};

/**
 * Finds the RAM blocks of @p process as @p config describes them. Rule: a run of contiguous VMAs
 * with perms rw-p or rw-s and VmFlags dc, followed by a ---p guard, with the size of a configured
 * backend (QEMU util/mmap-alloc.c, softmmu/physmem.c ram_block_add()). Same-sized candidates are
 * distinguished by backing and path. If a block then is ambiguous or missing, the guest is refused
 * and the message lists the mappings that were seen. VRAM, ROMs and DIMMs plugged later satisfy the
 * rule too. A mapping is taken for RAM only if a backend has its size; so with the command line as
 * @p config, DIMMs plugged since the start are not seen. A configured DIMM that is not mapped was
 * unplugged and is left out: out->bytes is then smaller than config->total_bytes. Memory that
 * cannot be measured at all is refused by name: RAM in guest_memfd, and base pages of a size that
 * no method was verified with.
 * @return 0; -ENOTSUP cannot be measured; -ENOTUNIQ ambiguous; -ENXIO a configured block was not
 * found; else as smaps_walk(). The caller frees with guest_ram_free().
 */
int guest_ram_locate(const struct fsroot *root, const struct qemu_process *process,
                     const struct ram_config *config, struct guest_ram *out, struct error *error);
void guest_ram_free(struct guest_ram *ram);

/**
 * Makes the RAM of a guest whose VMM is not a QEMU: the whole of each candidate that is taken.
 * Other candidates whose "unclaimed" is set may be RAM as well. The caller adds the slots.
 * @return 0; -ENOMEM. The caller frees with guest_ram_free().
 */
int guest_ram_of_candidates(const struct fsroot *root, const struct qemu_process *process,
                            const struct candidates *candidates, struct guest_ram *out,
                            struct error *error);

/** Returns true if the block is mapped page by page from a page cache: of tmpfs, a memfd or a disk
 * file system; not hugetlb. */
bool ram_block_is_file(const struct ram_block *block);

/** Returns true if any block is a file on a disk. */
bool guest_ram_on_disk(const struct guest_ram *ram);

/** Returns true if any block had huge pages when it was located, mapped by PMD or hugetlb. */
bool guest_ram_has_huge_pages(const struct guest_ram *ram);

/** Returns true if any block overlaps @p start .. @p end. */
bool guest_ram_overlaps(const struct guest_ram *ram, uint64_t start, uint64_t end);

/** The block that holds page number @p page (< n_pages). */
const struct ram_block *guest_ram_block(const struct guest_ram *ram, uint64_t page);

/** Host virtual address of page number @p page (< n_pages). */
uint64_t guest_ram_hva(const struct guest_ram *ram, uint64_t page);

/** The number of the page at @p hva; UINT64_MAX if no block has it. */
uint64_t guest_ram_page_at(const struct guest_ram *ram, uint64_t hva);

/** The RAM that the guest is known to have, of which @p resident_bytes are resident now: without
 * the part of virtio-mem that may not be plugged. It is at most the sum of the blocks. */
uint64_t guest_ram_proved_bytes(const struct guest_ram *ram, uint64_t resident_bytes);

/** Sum over the blocks. */
uint64_t guest_ram_resident_bytes(const struct guest_ram *ram);

/** Sorts @p n spans of equal size and drops duplicates; returns the number of spans left. */
uint64_t taken_sort(struct taken_span *spans, uint64_t n);

/** Returns true if the page at @p hva is taken. */
bool taken_has(const struct taken *taken, uint64_t hva);

/** The taken share of @p ram, 0 .. 1. */
double taken_share(const struct taken *taken, const struct guest_ram *ram);
