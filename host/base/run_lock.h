// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file run_lock.h  Locks below /run/vmwss, which keep a second vmwss off the same accessed bits.
 *
 * Accessed bits, idle flags and mappings of a guest serve only one reader: if two processes mark
 * the same guest, both numbers are wrong. So a process that marks holds the lock of that guest.
 * Different guests are measured side by side, because they share no marks (pages merged by KSM are
 * excluded).
 *
 * A lock is a file, flock(2)ed, that holds the pid of its holder; the kernel drops it when the
 * holder ends, also by kill -9, so a file without a lock is meaningless. Children forked meanwhile
 * hold it too, so the guest stays locked until its guardian has restored everything. A lock covers
 * one host, and all of its PID namespaces. A vmwss with a /run of its own, in a container, does not
 * see the file, but since Linux 6.9 a lock of the guest's pidfd: the two exclude each other, also
 * while a lock is lent.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "base/run_dir.h"

#include <stdbool.h>
#include <sys/types.h>

struct run_lock {
    int dir_fd;   /* descriptor of run/vmwss */
    int file_fd;  /* -1: not held */
    bool lent;    /* see run_lock_lend() */
    pid_t before; /* pid that the file had before this process locked it; 0: no pid */
    int apart_fd; /* the guest's pidfd, locked too; -1: not locked */
    bool beside;  /* this process itself has lent the lock: see run_lock_give_back() */
    char file[RUN_DIR_NAME_MAX];
};

/** A lock that is not held. */
#define RUN_LOCK_NONE ((struct run_lock){.dir_fd = -1, .file_fd = -1, .apart_fd = -1})

/** How to wait for a lock that another process holds. */
struct lock_wait {
    double seconds; /* 0: no wait */
    /* minimum wait if the holder has ended, but its guardian is still restoring */
    double ended_seconds;
    const volatile int *interrupted; /* the wait ends when this is not 0; may be NULL */
    /* pidfd of the guest, readable when it ends, and open as long as the lock is held; -1: none */
    int pidfd;
};

/**
 * Takes the lock of the guest that process @p pid runs. Does nothing if @p lock is held already.
 * @return 0; -EBUSY another process holds it: the message names that process; -EINTR; -ESRCH the
 *         guest ended meanwhile; or the file system's error (-EACCES: not root).
 */
int run_lock_guest(struct run_lock *lock, const struct fsroot *root, pid_t pid,
                   const struct lock_wait *wait, struct error *error);

/** Takes a lock of the whole host, for an object that exists only once: run/vmwss/@p name.lock. As
 * run_lock_guest(). */
int run_lock_host(struct run_lock *lock, const struct fsroot *root, const char *name,
                  const struct lock_wait *wait, struct error *error);

/** Releases the guest for other processes until run_lock_retake(). For a process that follows the
 * guest permanently but scans it seldom. */
void run_lock_lend(struct run_lock *lock);

/**
 * Takes a lent lock back without waiting. If another process locked the guest meanwhile, it has
 * replaced the pid in the file or removed the file.
 * @param others  set to true if another process locked the guest, so our marks may be gone;
 *                otherwise unchanged
 * @return 0; -EBUSY: another process holds it, and it stays lent; or the file system's error
 */
int run_lock_retake(struct run_lock *lock, bool *others);

/** Releases the lock, if held or lent. */
void run_lock_release(struct run_lock *lock);

/** Releases the lock, if held. For a process that has changed no marks: if another process had lent
 * the lock, or with beside this process by another struct, run_lock_retake() does not report that
 * the guest was locked. Without beside, this process's pid in the file is that of an earlier
 * process of the same number, which was killed. */
void run_lock_give_back(struct run_lock *lock);

/** Leaves the lock to a child that was forked while it was held: this process can no longer release
 * it or write to its file. The lock is not released: flock(2) holds as long as any process has the
 * open file. */
void run_lock_leave(struct run_lock *lock);

/** Removes leftovers of killed processes from run/vmwss: unlocked files whose holder is gone, and
 * the panels that such processes published (neighbour.h). */
void run_lock_sweep(const struct fsroot *root);
