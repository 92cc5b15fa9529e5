// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/qemu_writers.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/page_sizes.h"
#include "base/proc_pid.h"

#include <stdio.h>
#include <string.h>

#define DUMP_PAGE_BYTES 24
#define DUMP_PIECE_BYTES 512

struct qemu_writer {
    pid_t tid;
    struct qemu_transfers written;
};

static struct qemu_transfers written_by(const struct qemu_writers *writers, pid_t tid)
{
    for (size_t i = 0; i < writers->n; i++)
        if (writers->writer[i].tid == tid)
            return writers->writer[i].written;
    return (struct qemu_transfers){0};
}

static int read_threads(struct qemu_writers *now, const struct fsroot *root,
                        const struct qemu_process *process)
{
    cleanup_free pid_t *tids = NULL;
    char path[64];

    snprintf(path, sizeof(path), "proc/%d/task", (int)process->pid);

    const ssize_t n = proc_numbers(root, path, &tids);
    int rc = n < 0 ? (int)n : 0;

    for (ssize_t i = 0; rc == 0 && i < n; i++) {
        const struct qemu_writer writer = {
            .tid = tids[i], .written = qemu_thread_transfers(root, process->pid, tids[i])};

        if (tids[i] != process->pid)
            rc = array_put(&now->writer, &now->n, &writer, sizeof(writer));
    }
    return rc;
}

static void take_off(uint64_t *from, uint64_t now, uint64_t before)
{
    *from = less(*from, less(now, before));
}

/* The process is read first, so that what its threads write meanwhile is not theirs twice. */
struct qemu_transfers qemu_writers_read(struct qemu_writers *writers, const struct fsroot *root,
                                        const struct qemu_process *process, uint64_t least_bytes)
{
    struct qemu_writers now = {.begun = true, .all = qemu_process_transfers(root, process)};
    struct qemu_transfers wrote = {.bytes = less(now.all.bytes, writers->all.bytes),
                                   .calls = less(now.all.calls, writers->all.calls)};
    const bool first = !writers->begun;

    if (!first && wrote.bytes < least_bytes)
        return (struct qemu_transfers){0};
    if (read_threads(&now, root, process) < 0)
        wrote = (struct qemu_transfers){0};
    for (size_t i = 0; i < now.n; i++) {
        const struct qemu_writer *writer = &now.writer[i];
        const struct qemu_transfers before = written_by(writers, writer->tid);

        take_off(&wrote.bytes, writer->written.bytes, before.bytes);
        take_off(&wrote.calls, writer->written.calls, before.calls);
    }
    qemu_writers_free(writers);
    *writers = now;
    if (first)
        return (struct qemu_transfers){0};
    return wrote;
}

void qemu_writers_free(struct qemu_writers *writers)
{
    free(writers->writer);
    *writers = (struct qemu_writers){.begun = false};
}

uint64_t qemu_dump_least_bytes(uint64_t ram_bytes)
{
    return base_pages(ram_bytes) * DUMP_PAGE_BYTES;
}

bool qemu_wrote_dump(const struct qemu_transfers *written, uint64_t ram_bytes)
{
    return written->bytes >= qemu_dump_least_bytes(ram_bytes) &&
           written->bytes >= written->calls * DUMP_PIECE_BYTES;
}
