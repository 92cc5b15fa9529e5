// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_writers.h  What QEMU's main thread and threads that end write, as a dump does.
 *
 * Theory of operation. The threads that write for a guest's disks live on for ten seconds after
 * their last write (QEMU util/thread-pool.c, worker_thread()). Between two readings that are
 * closer, the growth of the process's counter without that of its other living threads was written
 * by the main thread, or by a thread that began and ended in between, such as a dump's.
 */
#pragma once

#include "guest/domain/qemu_io.h"

/** Zeroed: not read yet. */
struct qemu_writers {
    bool begun;
    struct qemu_transfers all; /* of the process, at the last reading */
    size_t n;
    struct qemu_writer *writer; /* its living threads, ascending */
};

/**
 * Reads the counters, of the single threads only if the process has written at least
 * @p least_bytes since the last such reading.
 *
 * @return what these threads wrote since; zeroes at the first reading, if less was written, or if
 *         memory is short
 */
struct qemu_transfers qemu_writers_read(struct qemu_writers *writers, const struct fsroot *root,
                                        const struct qemu_process *process, uint64_t least_bytes);

void qemu_writers_free(struct qemu_writers *writers);

/**
 * Returns true if so much was written in such pieces as by a dump of all of RAM.
 *
 * A compressed dump has 24 bytes for each page, also for one of zeroes (QEMU dump/dump.c,
 * PageDescriptor), and wrote pieces of 2,668 bytes on average, a monitor's replies 8 to 53.
 */
bool qemu_wrote_dump(const struct qemu_transfers *written, uint64_t ram_bytes);

/** The least bytes that a dump writes. */
uint64_t qemu_dump_least_bytes(uint64_t ram_bytes);
