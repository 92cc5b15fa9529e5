// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file watch.h  Measures the working sets of several processes together. */
#pragma once

#include "proc/processes.h"
#include "wss/disturbed.h"
#include "wss/method.h"

/** Times are clock_ns(). */
struct watched_process {
    struct process process; /* as it was when the watch began */
    void *state;            /* as of the beginning of the watch */
    /* times of this process, like the next two: with many processes they differ */
    uint64_t mark_begin_ns, mark_end_ns;
    uint64_t read_begin_ns, read_end_ns;
    struct wss_reading reading;
};

/* A process that was dropped, and the reason. */
struct dropped {
    struct process process;
    int rc; /* -ESRCH: it has ended */
};

struct watch {
    size_t unlisted; /* number of processes that may not be read at all; */
    bool hidden;     /* there may be further, hidden processes: hidden.h */
    const struct fsroot *root;
    const struct wss_method *method;
    /* marking and reading end with -EINTR when this is not 0; may be NULL */
    const volatile int *interrupted;
    struct watched_process *watched;
    size_t n;
    size_t gone;    /* processes that have ended since the beginning */
    size_t refused; /* processes that may not be read */
    /* processes whose mappings change faster than they can be read, or are too many */
    size_t unread;
    struct dropped *dropped; /* these three kinds of processes, in the order of detection */
    size_t n_dropped;
    struct disturbed disturbed; /* disturbances between marking and the last reading */
};

/** Begins with @p processes, which the watch then owns. -ENOMEM with the message. Call watch_end()
 * even after an error. */
int watch_begin(struct watch *watch, const struct fsroot *root, const struct wss_method *method,
                const struct processes *processes, struct error *error);
void watch_end(struct watch *watch);

/**
 * Mark or read all processes. Processes that ended, or that may not be read, are counted and
 * dropped.
 * @return 0, also if none is left; -EINTR if interrupted; or a negative errno with the message.
 */
int watch_mark(struct watch *watch, struct error *error);
int watch_read(struct watch *watch, struct error *error);

/** Returns true if, in any part of the process's memory, a touch counts for a whole huge page (2
 * MiB). */
bool watched_is_huge(const struct watched_process *watched);

/** Sorts by working set, largest first. */
void watch_sort(struct watch *watch);

/** The process's measured window: from the middle of marking it to the middle of reading it. */
double watched_est_s(const struct watched_process *watched);

/** The time from the beginning of marking the process to the end of reading it. */
double watched_duration_s(const struct watched_process *watched);
