// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file process_groups.h  Groups of processes: those of one program, or of one user. */
#pragma once

#include "proc/processes.h"

enum process_grouping {
    GROUP_NONE,
    GROUP_PROGRAM, /* the same name, of which the kernel keeps 15 bytes: proc_pid_comm(5) */
    GROUP_USER,    /* the same effective user */
};

struct process_group {
    char name[PROCESS_NAME_MAX];
    size_t n;
    size_t unread; /* number of processes of which only the RSS, and perhaps the swap, is known */
    /* sums of what is known; lower bounds if some processes are unread */
    struct process_memory memory;
    uint64_t rank; /* sum of process_rank() */
};

struct process_groups {
    struct process_group *group;
    size_t n;
};

/**
 * Makes groups of processes that processes_read() has read, sorted by @p key, the largest first,
 * then by name. The sums of PSS and USS are memory of the group; in RSS, shared pages count once
 * for each process.
 * @return 0, then call process_groups_free(); or -ENOMEM.
 */
int process_groups_make(const struct fsroot *root, const struct processes *processes,
                        enum process_grouping by, enum process_key key,
                        struct process_groups *groups);
void process_groups_free(struct process_groups *groups);
