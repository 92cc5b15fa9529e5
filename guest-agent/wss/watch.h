// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file watch.h  Processes whose working set is measured together. */
#pragma once

#include "proc/processes.h"
#include "wss/disturbed.h"
#include "wss/method.h"

/** Times are clock_ns(). */
struct watched_process {
    struct process process;              /* as it was when the watch began */
    void *state;                         /* the method's */
    uint64_t mark_begin_ns, mark_end_ns; /* its own, as the next two: with many they lie apart */
    uint64_t read_begin_ns, read_end_ns;
    struct wss_reading reading;
};

/* A process that is no longer watched, and the reason. */
struct dropped {
    struct process process;
    int rc; /* -ESRCH: it has ended */
};

struct watch {
    size_t unlisted; /* processes of which nothing is known, for we may not look at them; */
    bool hidden;     /* and there may be more: hidden.h */
    const struct fsroot *root;
    const struct wss_method *method;
    const volatile int *interrupted; /* not 0: marking and reading end with -EINTR; may be NULL */
    struct watched_process *watched;
    size_t n;
    size_t gone;             /* have ended since the watch began */
    size_t refused;          /* we may not look at */
    size_t unread;           /* whose mappings change faster than they are read, or are too many */
    struct dropped *dropped; /* these together, in the order in which it was found out */
    size_t n_dropped;
    struct disturbed disturbed; /* from marking to the last reading */
};

/** Takes over the processes. -ENOMEM with the message. watch_end() also after a failure. */
int watch_begin(struct watch *watch, const struct fsroot *root, const struct wss_method *method,
                const struct processes *processes, struct error *error);
void watch_end(struct watch *watch);

/**
 * Marks or reads all of them; who has ended, or may not be looked at, is counted and dropped.
 * @return 0, also when none is left; -EINTR when interrupted; or a negative errno with the message.
 */
int watch_mark(struct watch *watch, struct error *error);
int watch_read(struct watch *watch, struct error *error);

/** Returns true if a touch counts for a whole huge page (2 MiB), at least in a part of the
 * process's memory. */
bool watched_is_huge(const struct watched_process *watched);

/** Largest working set first. */
void watch_sort(struct watch *watch);

/** How long touches of this process counted: from the middle of marking it to the middle of reading
 * it. */
double watched_est_s(const struct watched_process *watched);

/** From the begin of marking it to the end of reading it. */
double watched_duration_s(const struct watched_process *watched);
