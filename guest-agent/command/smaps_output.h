// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file smaps_output.h  Prints the memory of processes, or of groups of processes, for people and
 * for programs. */
#pragma once

#include "proc/process_groups.h"

struct smaps_output {
    enum process_grouping by; /* GROUP_NONE: a row for each process */
    uint64_t top;             /* maximum number of rows; 0: all */
    bool split;               /* also print PSS by kind: anonymous, file, shared memory */
    bool json;
};

/** Prints the groups, or if there are none (NULL) the processes, in the given order. 0 or
 * -ENOMEM. */
int smaps_output_print(const struct smaps_output *output, const struct processes *processes,
                       const struct process_groups *groups);
