// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file process_memory.h  The memory of one process, from its page tables.
 *
 * Source: Documentation/filesystems/proc.rst, "smaps" and "statm";
 * Documentation/ABI/testing/procfs-smaps_rollup. smaps_rollup exists since Linux 4.14; before that
 * smaps is summed up; both need CONFIG_PROC_PAGE_MONITOR, and the right to trace the process.
 */
#pragma once

#include "base/fsroot.h"
#include "guest/ram/smaps.h"
#include "proc/keyed.h"

#include <stdint.h>
#include <sys/types.h>

/** A member is KEYED_UNKNOWN if this kernel does not report it. hugetlb pages are not included. All
 * members are uint64_t. */
struct process_memory {
    uint64_t rss_bytes;
    uint64_t pss_bytes; /* each page divided by the number of its mappings */
    /* touched since the kernel or a process last cleared the referenced bits */
    uint64_t referenced_bytes;
    uint64_t swap_bytes;
    uint64_t
        /* part of RSS that is mapped as huge pages, each referenced wholly or not at all */
        huge_bytes;
    uint64_t uss_bytes;       /* unique set size: the part of RSS that no other process maps */
    uint64_t pss_anon_bytes;  /* parts of PSS, since Linux 5.3: anonymous memory, */
    uint64_t pss_file_bytes;  /* pages of files, */
    uint64_t pss_shmem_bytes; /* and shared memory and tmpfs */
};

#define PROCESS_MEMORY_UNKNOWN                                                           \
    ((struct process_memory){KEYED_UNKNOWN, KEYED_UNKNOWN, KEYED_UNKNOWN, KEYED_UNKNOWN, \
                             KEYED_UNKNOWN, KEYED_UNKNOWN, KEYED_UNKNOWN, KEYED_UNKNOWN, \
                             KEYED_UNKNOWN})

/** The member at the offset @p at. */
static inline uint64_t process_memory_at(const struct process_memory *memory, size_t at)
{
    return *(const uint64_t *)(const void *)((const char *)memory + at);
}

/** The error message for -ENOTSUP. */
#define PROCESS_MEMORY_UNTOLD                                             \
    "this kernel has neither /proc/PID/smaps_rollup nor smaps: it needs " \
    "CONFIG_PROC_PAGE_MONITOR=y"

/** Size of "proc/PID/task/TID/smaps_rollup". */
#define PROCESS_PATH 64

/** Returns a thread that has the process's memory: the first thread, whose tid is @p pid; or, if
 * that is a zombie without memory while others run, the first of the others. @p pid if there is
 * none. */
pid_t process_thread(const struct fsroot *root, pid_t pid);

/** Writes the path of the process's file @p name relative to the root: "proc/PID/NAME", or that of
 * process_thread(). Returns @p path. */
char *process_path(const struct fsroot *root, pid_t pid, const char *name, char path[PROCESS_PATH]);

/** Calls smaps_walk() for the process, through process_thread(). */
int process_smaps_walk(const struct fsroot *root, pid_t pid, vma_visitor visit, void *context);

/**
 * Walks all page tables of the process, which takes some ms for each GiB of 4 KiB pages. A process
 * without memory of its own (a zombie, a kernel thread) has 0 everywhere.
 * @return 0; -ESRCH if it is gone, -EACCES if it may not be read, -ENOTSUP if this kernel has
 *         neither file, or another negative errno; after an error all members are KEYED_UNKNOWN.
 */
int process_memory_read(const struct fsroot *root, pid_t pid, struct process_memory *memory);

/** Adds the known members of @p part; a member unknown in both stays unknown. */
void process_memory_add(struct process_memory *all, const struct process_memory *part);

/** Swapped-out bytes by the kernel's own count (VmSwap of /proc/PID/status): needs neither a walk
 * nor privileges. Excludes shared memory, which process_memory_read() includes. KEYED_UNKNOWN if
 * the kernel does not report it. */
uint64_t process_swap_bytes(const struct fsroot *root, pid_t pid);

struct process_statm {
    uint64_t size_bytes; /* size of the address space; 0 for a process without memory of its own */
    uint64_t rss_bytes;
};

/** Reads sizes that cost nothing and that any user may see, from the first thread (@p tid is @p
 * pid) or from that of process_thread(). Since Linux 6.2 the RSS may be wrong by some pages for
 * each CPU, because the kernel counts per CPU. Returns 0; -ESRCH: the process is gone. */
int process_statm(const struct fsroot *root, pid_t pid, pid_t tid, struct process_statm *statm);
