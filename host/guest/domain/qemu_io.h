// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file qemu_io.h  How many bytes a QEMU process has read and written, for its guest's disks, for
 * a monitor, or for a dump. */
#pragma once

#include "base/fsroot.h"
#include "guest/domain/qemu.h"

/** A process's transfers by system calls since it began, those of its ended threads among them. */
struct qemu_transfers {
    uint64_t bytes; /* passed to write(), */
    uint64_t calls; /* by so many calls */
    uint64_t read;  /* bytes that read() returned, as when it loads a snapshot, */
    uint64_t reads; /* by so many calls */
};

/**
 * All 0 if the kernel does not count (CONFIG_TASK_IO_ACCOUNTING;
 * Documentation/filesystems/proc.rst, "wchar" and "syscw"). A plain dump writes at least as much as
 * guest RAM. Bytes sent to a socket do not count.
 */
struct qemu_transfers qemu_process_transfers(const struct fsroot *root,
                                             const struct qemu_process *process);

/** As qemu_process_transfers(), of one living thread. */
struct qemu_transfers qemu_thread_transfers(const struct fsroot *root, pid_t pid, pid_t tid);

/** The bytes that a process has read and written since it began; its main thread's writes are
 * separate. */
struct qemu_io {
    uint64_t read, written;           /* by system calls, also from the page cache */
    uint64_t disk_read, disk_written; /* from and to block devices, also by direct I/O */
    uint64_t main_written;            /* the part of written by its main thread */
    /* CPU time of threads that may copy a device's data: all except vCPUs, the main thread, and
     * threads that read RAM for a job */
    uint64_t helpers_ns;
    /* CPU time of all threads except vCPUs and the main thread, ended ones included; 0: not known
     */
    uint64_t others_ns;
    uint64_t main_ns;     /* CPU time of the main thread ... */
    uint64_t main_sleeps; /* ... and the number of times that it has waited */
    uint64_t faults;      /* qemu_process_faults() */
    bool has_disk;        /* the guest probably has a disk, which the main thread may serve */
};

/** The page faults of QEMU's threads, which since Linux 6.4 include vhost's, without those of other
 * processes that read its memory; UINT64_MAX if they are not known. */
uint64_t qemu_process_faults(const struct fsroot *root, const struct qemu_process *process);

/** Bytes are 0 if the kernel does not count (CONFIG_TASK_IO_ACCOUNTING). */
struct qemu_io qemu_process_io(const struct fsroot *root, const struct qemu_process *process);

/**
 * Upper bound of the bytes that moved between the guest's disks and its RAM from @p before to @p
 * now. QEMU's main thread submits a disk's writes asynchronously (they count as disk_written alone)
 * or has other threads make them; the main thread's own write() calls belong to a monitor
 * (pmemsave). (QEMU 7.2 block/file-posix.c, raw_co_prw(); softmmu/cpus.c, qmp_pmemsave().)
 *
 * The kernel's counters lack io_uring reads from the page cache, files in memory, sockets, and data
 * that vhost moves. So the result also includes what the other threads (workers, iothreads, those
 * of io_uring and vhost) could have copied in their running time. For a guest with a disk it also
 * includes what the main thread could have copied: at most a request or two for each time that it
 * waited, and nothing if it wrote for a monitor.
 */
uint64_t qemu_io_device_bytes(const struct qemu_io *before, const struct qemu_io *now);

/** As qemu_io_device_bytes(), but only for direct I/O, for which the kernel pins RAM's pages
 * (FOLL_PIN) instead of copying. */
uint64_t qemu_io_direct_bytes(const struct qemu_io *before, const struct qemu_io *now);

/** The largest amount of guest RAM that QEMU's main thread wrote for a monitor (pmemsave)
 * between the two readings; 0 if replies of a monitor and a console's output explain all that it
 * wrote. Replies through a socket
 * do not count. Replies through a pipe count, because they cannot be distinguished from RAM: both
 * are write(2), and a pipe's other end may be in any process. */
uint64_t qemu_io_monitor_bytes(const struct qemu_io *before, const struct qemu_io *now);
