// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scanner_private.h  What scanner.c, scanner_lanes.c and scanner_batch.c share. */
#pragma once

#include "programs/vmwssd/scanner/scanner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

struct scanner {
    struct scan_table *table; /* of a local one; NULL: it is beyond the wall */
    int channel_fd;
    clockid_t cpu_clock;
    atomic_uint files;
    pthread_key_t lane;    /* each thread's struct scanner_lane */
    pthread_mutex_t mutex; /* of the first channel */
    atomic_ullong lane_ns; /* since when a thread that holds it waits for a lane; 0: none does */
    atomic_ullong turn_ns; /* when scanner_alive() was called last */
    uint64_t asked_ns;     /* whether it lives; 0: the answer has come */
    uint64_t ask_ns;       /* when to ask that again */
};

/** A channel of a thread's own. */
struct scanner_lane {
    int fd;
    int bell_fd; /* that is rung when a batch was answered; -1: there was none yet */
};

/** Frees a thread's lane, when the thread ends. */
void scanner_lane_close(void *lane);

/** Reads what comes of answers to whether it lives, up to one of @p op. */
int scanner_receive(struct scanner *scanner, unsigned op, int *fd, int flags);

/** This thread's, for as long as it lives; NULL and *rc: it could not be opened. */
struct scanner_lane *scanner_lane_of(struct scanner *scanner, int *rc);

/** Likewise, with a bell. */
struct scanner_lane *scanner_lane_with_bell(struct scanner *scanner, int *rc);

/** One that failed is of no use any more, or would take the next request's reply for that to this
 * one: the next opens another. */
void scanner_lane_drop(struct scanner *scanner, struct scanner_lane *lane);

/** One request and its reply, over this thread's lane. 0, or why there is no reply. */
int scanner_exchange(struct scanner *scanner, const struct scan_request *request,
                     struct scan_reply *reply, int *fd);

/** Only as much of it as crosses: 30 KB that are not in the cache take longer than all the rest. */
void scanner_begin(struct scan_request *request, enum scan_op op, uint64_t guest);

/** The result of an exchange that ended with @p rc, or the reply's own. */
int scanner_result(struct scanner *scanner, int rc, const struct scan_reply *reply,
                   struct error *error);
