// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file process_memory.h  The memory of one process, as its page tables say.
 *
 * Source: Documentation/filesystems/proc.rst, "smaps" and "statm";
 * Documentation/ABI/testing/procfs-smaps_rollup. smaps_rollup is there since Linux 4.14, and smaps
 * is summed up where it is not; both need CONFIG_PROC_PAGE_MONITOR, and the right to trace the
 * process.
 */
#pragma once

#include "base/fsroot.h"
#include "guest/ram/smaps.h"
#include "proc/keyed.h"

#include <stdint.h>
#include <sys/types.h>

/** KEYED_UNKNOWN where this kernel does not say. hugetlb pages are in none of these. All members
 * are uint64_t. */
struct process_memory {
    uint64_t rss_bytes;
    uint64_t pss_bytes;        /* each page divided by the number of its mappings */
    uint64_t referenced_bytes; /* touched since the kernel, or a process, last cleared that mark */
    uint64_t swap_bytes;
    uint64_t
        huge_bytes; /* of RSS, what is mapped as huge pages: referenced all of it or not at all */
    uint64_t uss_bytes;       /* unique set size: of RSS, the pages that no other process maps */
    uint64_t pss_anon_bytes;  /* of PSS, since Linux 5.3: anonymous, */
    uint64_t pss_file_bytes;  /* pages of files, */
    uint64_t pss_shmem_bytes; /* and of shared memory and tmpfs */
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

/** The message for -ENOTSUP. */
#define PROCESS_MEMORY_UNTOLD                                             \
    "this kernel has neither /proc/PID/smaps_rollup nor smaps: it needs " \
    "CONFIG_PROC_PAGE_MONITOR=y"

/** Long enough for "proc/PID/task/TID/smaps_rollup". */
#define PROCESS_PATH 64

/** A thread that has the process's memory: the first one, whose number is @p pid; or, when that has
 * ended while others run and is a zombie without memory, the first of these. @p pid when there is
 * none. */
pid_t process_thread(const struct fsroot *root, pid_t pid);

/** Where the file @p name of the process is, below the root: "proc/PID/NAME", or that of
 * process_thread(). Returns @p path. */
char *process_path(const struct fsroot *root, pid_t pid, const char *name, char path[PROCESS_PATH]);

/** smaps_walk() of the process, by process_thread(). */
int process_smaps_walk(const struct fsroot *root, pid_t pid, vma_visitor visit, void *context);

/**
 * Walks all page tables of the process: some ms for each GiB of 4 KiB pages. One without memory of
 * its own (a zombie, a kernel thread) has 0 of everything.
 * @return 0; -ESRCH when it is gone, -EACCES when we may not look, -ENOTSUP when this kernel has
 *         neither file, or another negative errno; then all is KEYED_UNKNOWN.
 */
int process_memory_read(const struct fsroot *root, pid_t pid, struct process_memory *memory);

/** Adds what is known of @p part; what is known of neither stays unknown. */
void process_memory_add(struct process_memory *all, const struct process_memory *part);

/** Swapped-out bytes by the kernel's own count (VmSwap of /proc/PID/status): needs neither a walk
 * nor privileges, and leaves out shared memory, which process_memory_read() includes. KEYED_UNKNOWN
 * when the kernel does not report it. */
uint64_t process_swap_bytes(const struct fsroot *root, pid_t pid);

struct process_statm {
    uint64_t size_bytes; /* address space; 0 of a process without memory of its own */
    uint64_t rss_bytes;
};

/** Reads sizes that cost nothing and that any user may see, from the first thread (@p tid is @p
 * pid) or from that of process_thread(). Since Linux 6.2 the RSS may be off by some pages for each
 * CPU, because the kernel's counters are. Returns 0; -ESRCH: the process is gone. */
int process_statm(const struct fsroot *root, pid_t pid, pid_t tid, struct process_statm *statm);
