// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file smaps.h  One bounded parser for /proc/PID/smaps.
 *
 * Source: Documentation/filesystems/proc.rst, "/proc/PID/smaps"; fs/proc/task_mmu.c.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <sys/types.h>

struct device_number {
    unsigned major, minor;
};

static inline bool device_number_equal(struct device_number a, struct device_number b)
{
    return a.major == b.major && a.minor == b.minor;
}

/** One VMA. Sizes are in bytes, as the kernel prints them. */
struct vma {
    uint64_t start, end;         /* HVA, end exclusive */
    char perms[5];               /* "rw-p" */
    uint64_t offset;             /* into the file, bytes */
    struct device_number device; /* of the file */
    uint64_t inode;
    char path[256]; /* as printed, cut if longer; empty for anonymous memory */
    uint64_t rss_bytes, referenced_bytes, swap_bytes, swap_pss_bytes, locked_bytes;
    uint64_t pss_bytes;  /* part of Rss: each page divided by the number of its mappings */
    uint64_t anon_bytes; /* part of Rss: pages that belong neither to a file nor to shared memory */
    uint64_t anon_huge_bytes, shmem_pmd_bytes, file_pmd_bytes; /* mapped by PMD */
    uint64_t hugetlb_bytes; /* Private_Hugetlb + Shared_Hugetlb: hugetlb pages are not in Rss */
    uint64_t shared_bytes;  /* Shared_Clean + Shared_Dirty: mapped more than once */
    uint64_t page_bytes;    /* KernelPageSize */
    bool thp_eligible;
    bool dont_copy; /* VmFlags dc: MADV_DONTFORK, which QEMU sets on guest RAM */
    bool mergeable; /* mg */
    bool locked;    /* lo */
    bool hugetlb;   /* ht */
};

/** Called for each VMA in ascending order; a non-zero return ends the walk and is returned. NULL:
 * the process changed its VMAs while they were read, and the walk begins again: the visitor forgets
 * all that it has seen. */
typedef int (*vma_visitor)(const struct vma *vma, void *context);

/** Parses text in smaps (or maps: then only the header fields are set) format.
 *  -EBADMSG when a line cannot be understood, -EAGAIN when VMAs overlap; the message names it. */
int smaps_parse(const char *text, size_t length, vma_visitor visit, void *context,
                struct error *error);

/** Reads and parses /proc/PID/smaps, several times if VMAs overlap, -EBADMSG if they still do.
 * -ESRCH when the process is gone, -EACCES when not permitted.
 * The cost is proportional to the process's resident memory; VMAs behind the one at which the
 * visitor ends the walk cost nothing. */
int smaps_walk(const struct fsroot *root, pid_t pid, vma_visitor visit, void *context,
               struct error *error);

/** As smaps_walk(), but reads /proc/PID/task/TID/smaps: if the first thread of a process has ended,
 * /proc/PID/smaps is empty. */
int smaps_walk_thread(const struct fsroot *root, pid_t pid, pid_t tid, vma_visitor visit,
                      void *context, struct error *error);

/** Reads and parses /proc/PID/maps in the same way: only the header fields are set. The cost is
 * proportional to the number of VMAs. */
int maps_walk(const struct fsroot *root, pid_t pid, vma_visitor visit, void *context,
              struct error *error);
