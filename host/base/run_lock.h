// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file run_lock.h  One at a time: locks below /run/vmwss, against a second vmwss on the same bits.
 *
 * Accessed bits, idle flags and mappings of a guest have room for one reader: what one marks, the
 * other finds marked, and both numbers are wrong. So a process that marks holds the lock of that
 * guest; different guests are measured side by side, for none of what is marked belongs to two of
 * them (pages that KSM has merged are left out anyway).
 *
 * A lock is a file, flock(2)ed, that holds the pid of its holder; the kernel drops it when the
 * holder ends, also by kill -9, and a file without a lock means nothing. Children forked while it
 * is held hold it too: a guardian that restores something keeps the guest to itself until it is
 * done. It is for one host: another container with a /run of its own does not see it.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stdbool.h>
#include <sys/types.h>

struct run_lock {
    int dir_fd;   /* of run/vmwss */
    int file_fd;  /* -1: not held */
    bool lent;    /* see run_lock_lend() */
    pid_t before; /* who was named in the file when it was locked; 0: none */
    char file[40];
};

/** A lock that is not held. */
#define RUN_LOCK_NONE ((struct run_lock){.dir_fd = -1, .file_fd = -1})

/** How to wait for a lock that another process holds. */
struct lock_wait {
    double seconds;                  /* 0: not at all */
    double ended_seconds;            /* so long, if more, where the holder's process has ended, and
                                        what it left to restore things has not */
    const volatile int *interrupted; /* not 0: give up; may be NULL */
    int pidfd;                       /* of the guest: readable when it ends; -1: none */
};

/** The lock of the guest that process @p pid runs. Nothing happens if @p lock is held already.
 * @return 0; -EBUSY held by another process: the message names it; -EINTR; -ESRCH the guest ended
 *         meanwhile; or the file system's error (-EACCES: not root). */
int run_lock_guest(struct run_lock *lock, const struct fsroot *root, pid_t pid,
                   const struct lock_wait *wait, struct error *error);

/** A lock of the whole host, for what there is once only: run/vmwss/@p name.lock. As
 * run_lock_guest(). */
int run_lock_host(struct run_lock *lock, const struct fsroot *root, const char *name,
                  const struct lock_wait *wait, struct error *error);

/** Lets others have the guest until run_lock_retake(): for a process that watches it all the time,
 * but looks seldom. */
void run_lock_lend(struct run_lock *lock);

/**
 * Locks again, at once or not at all, what was lent. A process that locked the guest in between has
 * written a pid of its own into the file, or removed it.
 * @param others  set to true if one did: what we had marked may be marked no more; otherwise
 *                untouched
 * @return 0; -EBUSY: another process holds it, and it stays lent; or the file system's error
 */
int run_lock_retake(struct run_lock *lock, bool *others);

/** Releases it, if held or lent. */
void run_lock_release(struct run_lock *lock);

/** Releases it, if held, so that a process that had lent it does not see that the
 * guest was locked in between: for a process that has changed none of its marks. */
void run_lock_give_back(struct run_lock *lock);

/** Leaves it to a child that was forked while it was held: this process can neither release it nor
 * write to its file any more. It is not released: flock(2) holds as long as any process has the
 * open file. */
void run_lock_leave(struct run_lock *lock);

/** Removes what processes left in run/vmwss that were killed: locks that no process holds and whose
 * holder is gone, and what was published (neighbour.h) by such. */
void run_lock_sweep(const struct fsroot *root);
