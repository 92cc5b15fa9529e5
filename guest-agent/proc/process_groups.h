// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file process_groups.h  Processes together: those of one program, or of one user. */
#pragma once

#include "proc/processes.h"

enum process_grouping {
    GROUP_NONE,
    GROUP_PROGRAM, /* the same name: the first 15 bytes of it, proc_pid_comm(5) */
    GROUP_USER,    /* the same effective user */
};

struct process_group {
    char name[PROCESS_NAME_MAX];
    size_t n;
    size_t unread; /* of the n: of which only the RSS is known, and perhaps the swap */
    struct process_memory memory; /* sums of what is known: lower bounds where some are unread */
    uint64_t rank;                /* sum of process_rank() */
};

struct process_groups {
    struct process_group *group;
    size_t n;
};

/**
 * Sums over processes that processes_read() has read, those groups first that are largest by @p
 * key, by name where they are equal. PSS and USS add up to what the group takes; pages that are
 * shared count in RSS once for each of the processes.
 * @return 0, then give it to process_groups_free(); or -ENOMEM.
 */
int process_groups_make(const struct fsroot *root, const struct processes *processes,
                        enum process_grouping by, enum process_key key,
                        struct process_groups *groups);
void process_groups_free(struct process_groups *groups);
