// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file processes.h  The guest's processes and their memory: all of them, or the largest,
 * cheaply. */
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
    bool counted;      /* its memory counts with that one's; but for the RSS, it is unknown here */
    uint64_t size_bytes;  /* of the address space */
    uint64_t start_ticks; /* with the pid: which process this is; proc_pid_stat(5), field 22 */
    char name[PROCESS_NAME_MAX]; /* printable UTF-8, see proc_stat_name() */
    struct process_memory memory;
};

struct processes {
    struct process *process;
    size_t n;
    /* By processes_list() and processes_read(), together: */
    size_t ended;         /* meanwhile; they are not among them */
    size_t refused;       /* which we may not look at */
    bool hidden;          /* there may be more, of which not even the number is known: hidden.h */
    bool sharing_unknown; /* and some may be in one address space, see below */
    size_t failed;        /* for another reason, which is that of the first: */
    struct error failure;
};

void processes_free(struct processes *processes);

/** One process: its name and RSS, the other numbers unknown. 0; -ESRCH when it is gone, or another
 * negative errno. */
int process_identify(const struct fsroot *root, pid_t pid, struct process *process);

/** Checks that the PID is still that process's: 0, -ESRCH, or another negative errno. */
int process_check(const struct fsroot *root, const struct process *process);

/** Counts a process of which nothing, or only the RSS, is known for the reason @p rc, as the counts
 * of struct processes say. */
void processes_count_failure(struct processes *processes, pid_t pid, int rc);

/** All processes that have memory of their own, as process_identify() has them, by pid. Those that
 * end meanwhile, or of which we see not even that, are left out and counted. Two small files for
 * each. 0 or a negative errno with the message. */
int processes_list(const struct fsroot *root, struct processes *processes, struct error *error);

/*
 * Several processes may run in one address space: a vfork()ed child and its parent, or any
 * clone(CLONE_VM) without CLONE_THREAD. /proc shows all of the memory for each of them. Only
 * kcmp(2) with KCMP_VM tells them from processes that merely look alike, as after a fork. It needs
 * CONFIG_KCMP, the right to read both processes, a seccomp filter that permits it, and a /proc of
 * our own PID namespace.
 */

/** For the message if kcmp() is not available. */
#define MEMORY_SHARING_UNKNOWN                                                                 \
    "kcmp(2) is not available, so processes in one address space (vfork) are not recognized: " \
    "their memory may be counted more than once"

/** Whether kcmp() is available here. */
bool memory_sharing_known(const struct fsroot *root);

/**
 * Sets shares_with of each process in the address space of an earlier one of the array, and
 * sharing_unknown. About 0.4 us for each comparison, n log n of them.
 */
void processes_find_sharing(const struct fsroot *root, struct processes *processes);

/** Whether the memory of @p process is counted already, with that of one among @p n others. */
bool process_is_counted(const struct process *process, const struct process *others, size_t n);

/** Reads the memory of each, and of several in one address space that of the first. Those that have
 * ended are dropped, those that cannot be read keep the RSS that they had, and have their swap by
 * process_swap_bytes(). -ENOTSUP with the message when this kernel does not report. */
int processes_read(const struct fsroot *root, struct processes *processes, struct error *error);

/** Leaves out this process itself. */
void processes_drop_self(const struct fsroot *root, struct processes *processes);

/** A key is the place of its number. */
enum process_key {
    PROCESS_RSS = offsetof(struct process_memory, rss_bytes),
    PROCESS_PSS = offsetof(struct process_memory, pss_bytes),
    PROCESS_REFERENCED = offsetof(struct process_memory, referenced_bytes),
    PROCESS_SWAP = offsetof(struct process_memory, swap_bytes),
    PROCESS_USS = offsetof(struct process_memory, uss_bytes),
};

/** The rank of a process in an order by @p key: its RSS, which is never less, if the number is not
 * known; 0 for swap, and if its memory is counted with another process's. */
uint64_t process_rank(const struct process *process, enum process_key key);

/** Largest process_rank() first, by pid where they are equal: the largest may be one that we may
 * not see into. */
void processes_sort(struct processes *processes, enum process_key key);

/**
 * The @p n processes with the largest PSS, largest first, for a periodic report.
 *
 * Page tables are walked only where it can matter: from the largest RSS down, until the next RSS is
 * below the n-th PSS, for no PSS is above its RSS. At most @p walk_bytes are walked, resident or
 * swapped out, so that a process of 100 GiB does not cost half a second a report; what exceeds that
 * has its PSS unknown, and its RSS counts instead; its swap is by process_swap_bytes(). Of several
 * processes in one address space only the first is listed.
 */
int processes_largest(const struct fsroot *root, size_t n, uint64_t walk_bytes,
                      struct processes *processes, struct error *error);

/** The "processes" of a report, as wire.h has it, in their order; what is unknown is left out. @p
 * referenced: with referenced_bytes. NULL when out of memory. */
json_t *processes_json(const struct processes *processes, bool referenced);
