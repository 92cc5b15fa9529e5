// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file smaps_output.h  The memory of processes, or of groups of them, for people and for
 * scripts. */
#pragma once

#include "proc/process_groups.h"

struct smaps_output {
    enum process_grouping by; /* GROUP_NONE: a row for each process */
    uint64_t top;             /* at most so many rows; 0: all */
    bool split;               /* PSS also by what it is: anonymous, file, shared memory */
    bool json;
};

/** Prints the groups, or where they are NULL the processes, in their order. 0 or -ENOMEM. */
int smaps_output_print(const struct smaps_output *output, const struct processes *processes,
                       const struct process_groups *groups);
