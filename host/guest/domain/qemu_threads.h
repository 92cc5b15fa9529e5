// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_threads.h  The names of a process's threads; each name is read only once per thread.
 *
 * Theory of operation. Opening and reading a thread's comm costs some 7 us, and a daemon needs the
 * names of all threads at every scan. The listing of /proc/PID/task, which is read every time,
 * carries the inode of each thread. Inodes of /proc are numbered as they are made (fs/proc/base.c,
 * proc_pid_make_inode()) and belong to one thread: another thread has another number, even with the
 * same tid. An inode that was only dropped from the kernel's cache also gets another number, so the
 * thread's name is read again. A thread gives itself its name once it runs (QEMU
 * util/qemu-thread-posix.c, qemu_thread_start()), so a name is final once it was read ten seconds
 * after the first reading.
 */
#pragma once

#include "base/fsroot.h"

struct qemu_thread {
    pid_t tid;
    char name[16]; /* empty: the thread has just ended */
    uint64_t inode;
    uint64_t first_ns; /* when it was first seen, by clock_ns() */
    bool settled;      /* the name is final, and need not be read again */
};

/** Zeroed: nothing is known yet. */
struct qemu_threads {
    size_t n;
    struct qemu_thread *thread; /* sorted by tid */
};

#define QEMU_THREADS_SETTLE_NS 10000000000ULL

/**
 * Reads the present threads; settled names of threads that are already in @p threads stay.
 * @param now_ns  by clock_ns()
 * @return 0; -ESRCH there is no thread, and @p threads is empty; or another negative errno
 */
int qemu_threads_read(const struct fsroot *root, pid_t pid, uint64_t now_ns,
                      struct qemu_threads *threads);

void qemu_threads_free(struct qemu_threads *threads);
