// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scanner_private.h  Declarations shared by scanner.c, scanner_lanes.c and scanner_batch.c.
 */
#pragma once

#include "programs/vmwssd/scanner/scanner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

struct scanner {
    struct scan_table *table; /* for a local scanner; NULL: the scanner is another process */
    int channel_fd;
    clockid_t cpu_clock;
    atomic_uint files;
    pthread_key_t lane;    /* each thread's struct scanner_lane */
    pthread_mutex_t mutex; /* protects the first channel */
    /* since when the thread that holds it has waited for a lane; 0: no thread waits */
    atomic_ullong lane_ns;
    atomic_ullong turn_ns; /* last call of scanner_alive() */
    uint64_t asked_ns;     /* when SCAN_ALIVE was sent; 0: it was answered */
    uint64_t ask_ns;       /* when to send it again */
};

/** A thread's own channel. */
struct scanner_lane {
    int fd;
    int bell_fd; /* rung when a batch was answered; -1: no bell yet */
};

/** Closes a thread's lane, when the thread ends. */
void scanner_lane_close(void *lane);

/** Receives answers to SCAN_ALIVE until one to @p op comes. */
int scanner_receive(struct scanner *scanner, unsigned op, int *fd, int flags);

/** Returns this thread's lane, with a bell; it exists as long as the thread. NULL and *rc: it could
 * not be opened. */
struct scanner_lane *scanner_lane_with_bell(struct scanner *scanner, int *rc);

/** Drops a lane that failed: it could take a late reply for that to the next request. The next
 * request opens another lane. */
void scanner_lane_drop(struct scanner *scanner, struct scanner_lane *lane);

/** Sends one request and receives its reply, over this thread's lane. Returns 0, or why there is no
 * reply. */
int scanner_exchange(struct scanner *scanner, const struct scan_request *request,
                     struct scan_reply *reply, int *fd);

/** Begins a request; it clears only the bytes that are sent: 30 KB that are not in the cache would
 * take longer than all the rest. */
void scanner_begin(struct scan_request *request, enum scan_op op, uint64_t guest);

/** Returns the result of an exchange that ended with @p rc: an error of the exchange, or the
 * reply's own result. */
int scanner_result(struct scanner *scanner, int rc, const struct scan_reply *reply,
                   struct error *error);
