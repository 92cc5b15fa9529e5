// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_vcpus.h  Finds the accelerator that a QEMU process really uses, and its vCPU threads.
 *
 * The rule, the first that finds any:
 *  1. Threads named "CPU n/KVM", "CPU n/TCG" or "ALL CPUs/TCG". QEMU names its threads only with
 *     -name debug-threads=on, which libvirt always passes and a person seldom does.
 *  2. Under KVM, threads that do not block SIGUSR1 (SigBlk of /proc/PID/task/TID/status). QEMU
 * starts every thread with all signals blocked, and blocks SIGUSR1 in its main thread; only a KVM
 * vCPU thread unblocks it, because it is what kicks it out of KVM_RUN (QEMU 7.2
 * util/qemu-thread-posix.c qemu_thread_create(), util/main-loop.c qemu_signal_init(),
 * accel/kvm/kvm-all.c kvm_init_cpu_signals()).
 *  3. In another VMM, threads that have spent time in guest mode (field 43 of
 * /proc/PID/task/TID/stat).
 *  4. Under TCG they cannot be distinguished: all threads are taken, and vcpus_known is false.
 */
#pragma once

#include "base/fsroot.h"
#include "guest/domain/qemu.h"

/** Jobs in which QEMU may read or write all of guest RAM. */
enum qemu_job {
    QEMU_JOB_MIGRATION = 1 << 0,  /* in either direction, a save, or a background snapshot */
    QEMU_JOB_DIRTY_RATE = 1 << 1, /* calc-dirty-rate */
    QEMU_JOB_DUMP =
        1 << 2, /* a detached dump-guest-memory, or another activity that has read all of RAM */
};

/**
 * Returns the jobs (enum qemu_job, or-ed) that run now. Each is recognised by the name of its
 * thread, so only with -name debug-threads=on (QEMU 7.2 migration/migration.c, multifd.c,
 * dirtyrate.c, dump/dump.c; since 9.1 the first two are called "mig/..."). A migration that comes
 * in has no thread until the guest runs: it is recognised by -incoming and by vCPUs that have not
 * run yet.
 */
unsigned qemu_process_jobs(const struct fsroot *root, const struct qemu_process *process);

/** As qemu_process_jobs(), into @p jobs. 0, or a negative errno with *jobs 0 if its threads cannot
 * be seen, because it has ended or because /proc is mounted with hidepid. */
int qemu_process_read_jobs(const struct fsroot *root, pid_t pid, unsigned *jobs);

/** As qemu_process_jobs(), from the threads that qemu_vcpus_find() found, without reading their
 * names. */
unsigned qemu_process_jobs_found(const struct fsroot *root, const struct qemu_process *process);

/**
 * CPU time in ns of its threads other than vCPUs, ended ones included, since it began; 0 if the
 * vCPU threads are not known, or if @p root is a captured tree. The time of a running vCPU is only
 * known up to its last tick, so the result may be off by some milliseconds for each, in both
 * directions.
 */
uint64_t qemu_process_own_ns(const struct fsroot *root, const struct qemu_process *process);

/** As qemu_process_own_ns(), with the CPU time of the vCPUs given as @p vcpus_ns, just read by
 * qemu_process_vcpu_ns(): the vCPU threads are not read again. */
uint64_t qemu_process_own_ns_beside(const struct fsroot *root, const struct qemu_process *process,
                                    uint64_t vcpus_ns);

/**
 * The time that its ended threads spent in guest mode, in clock ticks: it grows when a vCPU is
 * unplugged, whenever that was plugged in. This is an upper bound, because living threads may run
 * while it is read.
 * @param process  with its present vCPUs
 */
uint64_t qemu_process_ended_guest_ticks(const struct fsroot *root,
                                        const struct qemu_process *process);

/**
 * Returns true if QEMU has stopped its vCPUs. A halted KVM vCPU waits in KVM_RUN, an ioctl; a vCPU
 * that QEMU has stopped waits for a condition variable of QEMU's (/proc/PID/task/TID/syscall).
 * Under TCG both wait for the latter, so true then only means that no vCPU is running.
 */
bool qemu_process_vcpus_stopped(const struct fsroot *root, const struct qemu_process *process);

/** Returns true if the process has a virtual machine of KVM's, or a vCPU of one, open. */
bool process_holds_kvm_vm(const struct fsroot *root, pid_t pid);

/** Returns true if the process has more than one KVM virtual machine open. */
bool process_holds_several_vms(const struct fsroot *root, pid_t pid);

/** Returns true if it has a guest_memfd open. The guest's RAM, or a part of it, is then there,
 * whatever its options are. */
bool qemu_process_holds_guest_memfd(const struct fsroot *root, const struct qemu_process *process);

/** Fills accel, vcpus_known, n_vcpus, vcpus and threads of @p process. -ESRCH when its threads are
 * gone; -ENOMEM. */
int qemu_vcpus_find(const struct fsroot *root, struct qemu_process *process);

/** Returns true if it has a device of the host open (/dev/vfio, Documentation/driver-api/vfio.rst).
 * False if its files cannot be seen. */
bool qemu_process_has_vfio(const struct fsroot *root, const struct qemu_process *process);

/** Returns true if QEMU's main thread writes what the guest sends into a network: it has a tap open
 * and no vhost (QEMU net/tap.c, tap_receive_iov()). */
bool qemu_process_writes_packets(const struct fsroot *root, const struct qemu_process *process);

/** The accelerator in the name of a vCPU's thread: "CPU 3/KVM" → KVM; UNKNOWN for every thread
 * other than a vCPU's. */
enum accel qemu_thread_accel(const char *name);

/** The job (enum qemu_job) of a thread of that name; 0: none. */
unsigned qemu_thread_job(const char *name);

/** CPU time consumed by one thread so far, in ns; 0 if it has ended. */
uint64_t qemu_thread_ns(const struct fsroot *root, pid_t pid, pid_t tid);

/** CPU time consumed by the vCPU threads so far, in ns (first field of
 * /proc/PID/task/TID/schedstat, else utime + stime of its stat;
 * Documentation/scheduler/sched-stats.rst). Ended threads count 0, so after the unplugging of a
 * vCPU the sum is smaller than before. Under TCG this is emulation time, of guest code and
 * translation alike. If the vCPU threads are not known, it is the CPU time of the whole process
 * (its CPU clock, clock_getcpuclockid(3)), which never falls. */
uint64_t qemu_process_vcpu_ns(const struct fsroot *root, const struct qemu_process *process);

/** The kernel updates that time at each tick (10 ms where ticks are farthest apart), so a period of
 * less than two ticks may show no time of a vCPU that ran throughout. */
#define VCPU_CLOCK_S 0.02

/** Returns true if the vCPUs ran for less than 1 % of the time; false if @p time_s is too short to
 * tell. */
bool vcpus_hardly_ran(double ran_s, double time_s);

/** Adds up the running time of vCPUs that come and go. Zeroed: not read yet. */
struct vcpu_clock {
    bool begun;
    uint64_t read_ns; /* value of the last reading */
    uint64_t ran_ns;  /* running time since the first reading */
};

/** Reads the clock; returns the vCPUs' running time since the first reading, in ns, which never
 * falls. If the second of two readings has fewer vCPUs, the time between them is not counted. */
uint64_t vcpu_clock_read(struct vcpu_clock *clock, const struct fsroot *root,
                         const struct qemu_process *process);
