// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scanner_process.h  The process of the scanner: see scanner.h for what it is. */
#pragma once

#include "base/fsroot.h"
#include "base/run_lock.h"
#include "programs/vmwssd/scanner/scanner.h"

/** Its exit status if the other half has not asked for too long. */
#define SCANNER_EXIT_HUNG 3

struct scanner_plan {
    const struct fsroot *root;
    struct run_lock *lock; /* of the host: the scanner releases it when all is restored */
    bool agents;           /* does it open sockets of agents? */
    int log_level;
    uint64_t patience_ns;
};

/**
 * Makes the other process, which gives up what it does not need. To be called while there is one
 * thread, and before any library is used that it shall not have had. On return this process is the
 * rest; the scanner never returns.
 * @param pid  its process, a child of this one
 */
int scanner_start(struct scanner **out, const struct scanner_plan *plan, pid_t *pid,
                  struct error *error);

/** After scanner_leave(): waits for its end, at most a few seconds. Its exit status; -1: it has not
 * ended, or was killed. */
int scanner_wait(pid_t pid);
