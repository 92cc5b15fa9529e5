// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_vcpus.h  Which accelerator a QEMU process really uses, and which threads are its
 * vCPUs.
 *
 * The rule, the first that finds any:
 *  1. Threads named "CPU n/KVM", "CPU n/TCG" or "ALL CPUs/TCG". QEMU names its threads only with
 *     -name debug-threads=on, which libvirt always passes and a person seldom does.
 *  2. Under KVM, threads that do not block SIGUSR1 (SigBlk of /proc/PID/task/TID/status). QEMU
 * starts every thread with all signals blocked, and blocks SIGUSR1 in its main thread; only a KVM
 * vCPU thread unblocks it, because it is what kicks it out of KVM_RUN (QEMU 7.2
 * util/qemu-thread-posix.c qemu_thread_create(), util/main-loop.c qemu_signal_init(),
 * accel/kvm/kvm-all.c kvm_init_cpu_signals()).
 *  3. Under TCG they cannot be distinguished: all threads are taken, and vcpus_known is false.
 */
#pragma once

#include "base/fsroot.h"
#include "guest/domain/qemu.h"

/** What QEMU may be doing to all of guest RAM. */
enum qemu_job {
    QEMU_JOB_MIGRATION = 1 << 0,  /* or save, or background snapshot */
    QEMU_JOB_DIRTY_RATE = 1 << 1, /* calc-dirty-rate */
    QEMU_JOB_DUMP =
        1 << 2, /* a detached dump-guest-memory, or whatever else had it read all of RAM */
};

/**
 * The jobs (enum qemu_job, or-ed) that run now, each known by the name of its thread, so only with
 * -name debug-threads=on (QEMU 7.2 migration/migration.c, multifd.c, dirtyrate.c, dump/dump.c;
 * since 9.1 the first two are called "mig/...").
 */
unsigned qemu_process_jobs(const struct fsroot *root, const struct qemu_process *process);

/** Likewise, into @p jobs. 0, or a negative errno if its threads cannot be seen, and *jobs 0: it
 * has ended, or /proc is mounted with hidepid. */
int qemu_process_read_jobs(const struct fsroot *root, pid_t pid, unsigned *jobs);

/** Likewise, of the threads that qemu_vcpus_find() has found: nothing is read. */
unsigned qemu_process_jobs_found(const struct qemu_process *process);

/** What a process's threads, ended ones too, have passed to write() since it began. */
struct qemu_written {
    uint64_t bytes;
    uint64_t calls;
};

/**
 * All 0 where the kernel does not count (CONFIG_TASK_IO_ACCOUNTING;
 * Documentation/filesystems/proc.rst, "wchar" and "syscw"). A plain dump is at least as much as
 * guest RAM. What is sent to a socket does not count.
 */
struct qemu_written qemu_process_written(const struct fsroot *root,
                                         const struct qemu_process *process);

/** What a process has read and written since it began, its main thread's writes apart. */
struct qemu_io {
    uint64_t read, written;           /* by system calls, also from the page cache */
    uint64_t disk_read, disk_written; /* from and to block devices, also by direct I/O */
    uint64_t main_written;            /* of written: by its main thread */
    uint64_t helpers_ns;  /* CPU time of threads that may move a device's data: neither vCPUs, nor
                             the main thread, nor one that reads RAM for a job */
    uint64_t main_ns;     /* CPU time of the main thread ... */
    uint64_t main_sleeps; /* ... and how often it has waited for something */
    uint64_t faults;      /* minor ones, not those of others who read its memory */
    bool has_disk;        /* there seems to be one: the main thread may serve it */
};

/** Bytes are 0 where the kernel does not count (CONFIG_TASK_IO_ACCOUNTING). */
struct qemu_io qemu_process_io(const struct fsroot *root, const struct qemu_process *process);

/**
 * At most so many bytes went between the guest's disks and its RAM from @p before to @p now.
 * QEMU's main thread submits a disk's writes asynchronously (they count as disk_written alone) or
 * has other threads make them; what it passes to write() itself is a monitor's: pmemsave.
 * (QEMU 7.2 block/file-posix.c, raw_co_prw(); softmmu/cpus.c, qmp_pmemsave().)
 *
 * Not counted is what io_uring finds in the page cache, files in memory, what goes through a
 * socket, and what vhost moves. So it is at least what the other threads could have copied in the
 * time for which they ran: workers, iothreads, those of io_uring and vhost. Likewise the main
 * thread if the guest has a disk, but no more than a request or two for each time that it waited,
 * and nothing where it has written for a monitor.
 */
uint64_t qemu_io_device_bytes(const struct qemu_io *before, const struct qemu_io *now);

/** Likewise, by direct I/O alone, for which the kernel takes hold of RAM's pages (FOLL_PIN) instead
 * of copying. */
uint64_t qemu_io_direct_bytes(const struct qemu_io *before, const struct qemu_io *now);

/** So much guest RAM at most QEMU's main thread wrote for a monitor (pmemsave) meanwhile; 0: less
 * than a monitor's replies and a console may be. Replies through a socket do not count, those
 * through a pipe do, and nothing tells them from RAM: both are write(2), and a pipe's other end may
 * be in any process. */
uint64_t qemu_io_monitor_bytes(const struct qemu_io *before, const struct qemu_io *now);

/**
 * CPU time in ns of its threads that are no vCPUs, ended ones too, since it began; 0 where the
 * vCPUs are not known among the threads, or @p root is a captured tree. The time of a vCPU that
 * runs is only known to its last tick: off by some milliseconds for each, either way.
 */
uint64_t qemu_process_own_ns(const struct fsroot *root, const struct qemu_process *process);

/** Likewise, with the CPU time of the vCPUs given as @p vcpus_ns, just read by
 * qemu_process_vcpu_ns(): the vCPU threads are not read again. */
uint64_t qemu_process_own_ns_beside(const struct fsroot *root, const struct qemu_process *process,
                                    uint64_t vcpus_ns);

/**
 * For how long its threads that have ended were in guest mode, in clock ticks: what grows when a
 * vCPU is unplugged, whenever it was plugged in. At most so long: living ones may run while it is
 * read.
 * @param process  with the vCPUs of now
 */
uint64_t qemu_process_ended_guest_ticks(const struct fsroot *root,
                                        const struct qemu_process *process);

/**
 * Does QEMU have its vCPUs stand still? A KVM vCPU that is halted waits in KVM_RUN, an ioctl; one
 * that QEMU has stopped waits for a condition of QEMU's (/proc/PID/task/TID/syscall). Under TCG
 * both wait for that, so then it only means that none is running.
 */
bool qemu_process_vcpus_stopped(const struct fsroot *root, const struct qemu_process *process);

/** Has it a guest_memfd open? Then that is where (part of) the guest's RAM is, whatever its options
 * say. */
bool qemu_process_holds_guest_memfd(const struct fsroot *root, const struct qemu_process *process);

/** Fills accel, vcpus_known, n_vcpus, vcpus and threads of @p process. -ESRCH when its threads are
 * gone; -ENOMEM. */
int qemu_vcpus_find(const struct fsroot *root, struct qemu_process *process);

/** Has it a device of the host open (/dev/vfio, Documentation/driver-api/vfio.rst)? False where its
 * files cannot be seen. */
bool qemu_process_has_vfio(const struct fsroot *root, const struct qemu_process *process);

/** CPU time consumed by the vCPU threads so far, in ns (first field of
 * /proc/PID/task/TID/schedstat, else utime + stime of its stat;
 * Documentation/scheduler/sched-stats.rst). Threads that are gone count 0, so after the unplugging
 * of a vCPU the sum is smaller than before. Under TCG this is emulation time, guest code and
 * translation alike. When the vCPU threads are not known it is the CPU time of the whole process
 * (its CPU clock, clock_getcpuclockid(3)), which never falls. */
uint64_t qemu_process_vcpu_ns(const struct fsroot *root, const struct qemu_process *process);

/** The kernel adds to that time at each tick, 10 ms where they are farthest apart, so a shorter
 * time than two of them may show none of a vCPU that ran all the while. */
#define VCPU_CLOCK_S 0.02

/** Did the vCPUs run for less than 1 % of a time? False where it is too short to tell. */
bool vcpus_hardly_ran(double ran_s, double time_s);

/** Adds up how long the vCPUs run while vCPUs come and go. Zeroed: not read yet. */
struct vcpu_clock {
    bool begun;
    uint64_t read_ns; /* as last read */
    uint64_t ran_ns;  /* since the first reading */
};

/** Reads it; how long they ran since the first reading, in ns, which never falls: what ran between
 * two readings of which the second has fewer vCPUs is not counted. */
uint64_t vcpu_clock_read(struct vcpu_clock *clock, const struct fsroot *root,
                         const struct qemu_process *process);
