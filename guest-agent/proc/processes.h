// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file processes.h  The guest's processes and their memory: all of them, or only the largest, at
 * low cost. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "proc/process_memory.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define PROCESS_NAME_MAX 64

struct process {
    pid_t pid;
    pid_t thread;      /* process_thread() */
    pid_t shares_with; /* an earlier process in the same address space; 0: there is none */
    /* its memory is included in that of shares_with; only the RSS is known here */
    bool counted;
    uint64_t size_bytes; /* size of the address space */
    /* identifies the process together with the pid; proc_pid_stat(5), field 22 */
    uint64_t start_ticks;
    char name[PROCESS_NAME_MAX]; /* printable UTF-8, see proc_stat_name() */
    struct process_memory memory;
};

struct processes {
    struct process *process;
    size_t n;
    /* Set by processes_list() and processes_read(): */
    size_t ended;         /* processes that ended meanwhile; they are not in the list */
    size_t refused;       /* processes that may not be read */
    bool hidden;          /* there may be more processes, in unknown number: hidden.h */
    bool sharing_unknown; /* some processes may share an address space, see below */
    size_t failed;        /* processes that failed for another reason; the first such reason: */
    struct error failure;
};

void processes_free(struct processes *processes);

/** Reads one process's name and RSS; other members are unknown. 0; -ESRCH if it is gone, or another
 * negative errno. */
int process_identify(const struct fsroot *root, pid_t pid, struct process *process);

/** Checks that the PID still belongs to that process: 0, -ESRCH, or another negative errno. */
int process_check(const struct fsroot *root, const struct process *process);

/** Counts, in the counters of struct processes, a process of which nothing or only the RSS is known
 * because of @p rc. */
void processes_count_failure(struct processes *processes, pid_t pid, int rc);

/** Lists all processes with memory of their own, by pid, as process_identify() reads them.
 * Processes that end meanwhile, or that cannot be identified, are counted but not listed. Reads two
 * small files for each process. 0 or a negative errno with the message. */
int processes_list(const struct fsroot *root, struct processes *processes, struct error *error);

/*
 * Several processes may run in one address space: a vfork()ed child and its parent, or any
 * clone(CLONE_VM) without CLONE_THREAD. /proc shows all of the memory for each of them. Only
 * kcmp(2) with KCMP_VM distinguishes them from processes that look alike, for example after a fork.
 * It needs CONFIG_KCMP, the right to read both processes, a seccomp filter that permits it, and a
 * /proc of our own PID namespace.
 */

/** The message if kcmp() is not available. */
#define MEMORY_SHARING_UNKNOWN                                                                 \
    "kcmp(2) is not available, so processes in one address space (vfork) are not recognized: " \
    "their memory may be counted more than once"

/** Returns true if kcmp() is available here. */
bool memory_sharing_known(const struct fsroot *root);

/**
 * Sets shares_with for each process that shares the address space of an earlier one in the array,
 * and sharing_unknown. Makes n log n comparisons of about 0.4 us.
 */
void processes_find_sharing(const struct fsroot *root, struct processes *processes);

/** Returns true if the memory of @p process is already counted with one of the @p n others. */
bool process_is_counted(const struct process *process, const struct process *others, size_t n);

/** Reads the memory of each process; if several share an address space, only the first one's. Drops
 * processes that have ended. Processes that cannot be read keep their RSS, and get their swap from
 * process_swap_bytes(). -ENOTSUP with the message if this kernel does not report memory. */
int processes_read(const struct fsroot *root, struct processes *processes, struct error *error);

/** Removes this process itself from the list. */
void processes_drop_self(const struct fsroot *root, struct processes *processes);

/** A key's number is the index of its name. */
enum process_key {
    PROCESS_RSS = offsetof(struct process_memory, rss_bytes),
    PROCESS_PSS = offsetof(struct process_memory, pss_bytes),
    PROCESS_REFERENCED = offsetof(struct process_memory, referenced_bytes),
    PROCESS_SWAP = offsetof(struct process_memory, swap_bytes),
    PROCESS_USS = offsetof(struct process_memory, uss_bytes),
};

/** The sort value of a process for @p key. If the number is unknown, it is the RSS, which is an
 * upper bound; for swap it is 0. It is 0 if the memory is counted with another process's. */
uint64_t process_rank(const struct process *process, enum process_key key);

/** Sorts by process_rank(), largest first, then by pid. The largest may be a process that may not
 * be read. */
void processes_sort(struct processes *processes, enum process_key key);

/**
 * The @p n processes with the largest PSS, largest first, for a periodic report.
 *
 * Walks only the page tables that can matter: from the largest RSS down, until the next RSS is
 * below the n-th PSS, because no PSS exceeds its RSS. At most @p walk_bytes (resident or swapped
 * out) are walked, so that a process of 100 GiB does not cost half a second per report. A process
 * beyond that limit has an unknown PSS, is sorted by its RSS, and gets its swap from
 * process_swap_bytes(). If several processes share an address space, only the first is listed.
 */
int processes_largest(const struct fsroot *root, size_t n, uint64_t walk_bytes,
                      struct processes *processes, struct error *error);

/** Returns the "processes" of a report (wire.h), in their order, without unknown values. @p
 * referenced: with referenced_bytes. NULL if out of memory. */
json_t *processes_json(const struct processes *processes, bool referenced);
