// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_threads.h  The threads of a process by their names, which are read once of each thread
 * as long as it is the same one.
 *
 * Theory of operation. To open and read a thread's comm costs some 7 us, and a daemon needs the
 * names of all threads at every scan. The listing of /proc/PID/task, which is read every time,
 * carries the inode of each thread. Inodes of /proc are numbered as they are made (fs/proc/base.c,
 * proc_pid_make_inode()) and belong to one thread: another thread, also one that got the same id,
 * has another number. One that was merely dropped from the kernel's cache gets another number too,
 * and its name is read again. A thread gives itself its name once it runs (QEMU
 * util/qemu-thread-posix.c, qemu_thread_start()), so a name counts from the reading on that was ten
 * seconds after the first.
 */
#pragma once

#include "base/fsroot.h"

struct qemu_thread {
    pid_t tid;
    char name[16]; /* empty: it has just ended */
    uint64_t inode;
    uint64_t first_ns; /* when it was first seen, by clock_ns() */
    bool settled;      /* its name need not be read again */
};

/** Zeroed: nothing is known yet. */
struct qemu_threads {
    size_t n;
    struct qemu_thread *thread; /* by tid, ascending */
};

#define QEMU_THREADS_SETTLE_NS 10000000000ULL

/** The threads of now; of those that are in @p threads already what is settled stays.
 * @param now_ns  by clock_ns()
 * @return 0; -ESRCH there is none, and @p threads is empty; or another negative errno */
int qemu_threads_read(const struct fsroot *root, pid_t pid, uint64_t now_ns,
                      struct qemu_threads *threads);

void qemu_threads_free(struct qemu_threads *threads);
