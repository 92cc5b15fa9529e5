// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file lock_keeper.h  The process that creates and removes the scanner's files in /run/vmwss, and
 * opens its tracepoints.
 *
 * The scanner's filter of system calls refuses to open any file for writing, so that an attacker
 * in it, who is user 0, cannot write root's files, /proc/sys, or the memory of another process
 * (/proc/PID/mem). Its locks and panels are files nevertheless. This child of the scanner creates
 * them, and passes their descriptors. It takes only the names of a guest's lock, a guest's panel
 * and vmwssd's own lock, and Landlock limits it to /run/vmwss.
 *
 * The filter refuses the scanner perf_event_open(2) as well: no filter sees the attributes, which
 * are in memory, and they may ask for a signal to the thread that is counted (sigtrap, Linux 5.13),
 * which ends its process. This child, whose only capability is for that call, opens a tracepoint
 * that vmwssd records (trace_event.h), with attributes of its own, on the thread it is asked for.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "base/run_dir.h"

#include <stdbool.h>

enum lock_keeper_op { LOCK_KEEPER_CREATE = 1, LOCK_KEEPER_REMOVE, LOCK_KEEPER_TRACE };

struct lock_keeper_request {
    int op;
    char file[RUN_DIR_NAME_MAX]; /* to create or remove */
    /* LOCK_KEEPER_TRACE: as for trace_event_open() */
    int tid;
    uint32_t wake_bytes;
    uint64_t event;
};

/** Returns true if the message, of @p size bytes, is one that the keeper serves. Whether its event
 * is one of those recorded is seen later. */
bool lock_keeper_valid(const struct lock_keeper_request *request, size_t size);

/** Starts it; call it while there is one thread and before privileges_drop_scanner(). Returns a
 * descriptor that is readable once the keeper has ended, or a negative errno with the message. */
int lock_keeper_start(const struct fsroot *root, struct error *error);
