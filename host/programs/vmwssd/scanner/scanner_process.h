// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scanner_process.h  The process of the scanner; scanner.h describes it. */
#pragma once

#include "base/fsroot.h"
#include "base/run_lock.h"
#include "programs/vmwssd/scanner/scanner.h"

/** Its exit status if the other half has sent no request for too long. */
#define SCANNER_EXIT_HUNG 3

struct scanner_plan {
    const struct fsroot *root;
    struct run_lock *lock; /* the host's lock: the scanner releases it when all is restored */
    bool agents;           /* true if it opens sockets of agents */
    bool writes;           /* true if it measures what guests write */
    int log_level;
    uint64_t patience_ns;
};

/**
 * Forks the scanner, which drops all rights that it does not need. Call it while there is one
 * thread, and before using any library that the scanner must not have used. It returns only in this
 * process, the other half; the scanner never returns.
 * @param pid its process, a child of this one
 */
int scanner_start(struct scanner **out, const struct scanner_plan *plan, pid_t *pid,
                  struct error *error);

/** Call it after scanner_leave(): waits for the scanner's end, at most a few seconds. Returns its
 * exit status; -1: it has not ended, or was killed. */
int scanner_wait(pid_t pid);
