// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/qemu_threads.h"

#include "base/cleanup.h"
#include "base/proc_pid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void qemu_threads_free(struct qemu_threads *threads)
{
    free(threads->thread);
    *threads = (struct qemu_threads){0};
}

static const struct qemu_thread *find_thread(const struct qemu_threads *threads, pid_t tid)
{
    size_t low = 0;
    size_t high = threads->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct qemu_thread *thread = &threads->thread[middle];

        if (thread->tid == tid)
            return thread;
        if (thread->tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void read_name(const struct fsroot *root, pid_t pid, struct qemu_thread *thread)
{
    char name[64];

    if (fsroot_read(root, name, sizeof(name), "proc/%d/task/%d/comm", (int)pid, (int)thread->tid) <
        0)
        name[0] = '\0';
    snprintf(thread->name, sizeof(thread->name), "%s", name);
}

static struct qemu_thread see(const struct fsroot *root, pid_t pid, uint64_t now_ns,
                              const struct proc_number *listed, const struct qemu_threads *before)
{
    const struct qemu_thread *known = find_thread(before, (pid_t)listed->number);
    struct qemu_thread thread = {
        .tid = (pid_t)listed->number, .inode = listed->inode, .first_ns = now_ns};

    if (known && known->inode == thread.inode)
        thread = *known;
    if (thread.settled)
        return thread;
    read_name(root, pid, &thread);
    /* in a captured tree a name may change at any time */
    thread.settled = root->live && thread.name[0] &&
                     now_ns - thread.first_ns >= QEMU_THREADS_SETTLE_NS;
    return thread;
}

int qemu_threads_read(const struct fsroot *root, pid_t pid, uint64_t now_ns,
                      struct qemu_threads *threads)
{
    cleanup_free struct proc_number *listed = NULL;
    char path[32];

    snprintf(path, sizeof(path), "proc/%d/task", (int)pid);
    ssize_t n = proc_numbers_inodes(root, path, &listed);
    struct qemu_threads now = {
        .n = n > 0 ? (size_t)n : 0,
        .thread = n > 0 ? calloc((size_t)n, sizeof(*now.thread)) : NULL,
    };

    if (n > 0 && !now.thread)
        return -ENOMEM;
    for (size_t i = 0; i < now.n; i++)
        now.thread[i] = see(root, pid, now_ns, &listed[i], threads);
    qemu_threads_free(threads);
    *threads = now;
    if (n <= 0)
        return n == 0 || n == -ENOENT ? -ESRCH : (int)n;
    return 0;
}
