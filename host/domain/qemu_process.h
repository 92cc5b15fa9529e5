// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_process.h  A QEMU process, held so that another process can never be taken for it.
 *
 * The pid is pinned by a pidfd and identified by start time (field 22 of /proc/PID/stat,
 * proc_pid_stat(5)) and executable; qemu_process_verify() is called before every touch of the MMU.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "domain/qemu_cmdline.h"

#include <sys/types.h>

#define QEMU_MAX_VCPUS 1024
#define QEMU_MAX_CMDLINE_BYTES (8UL << 20)

struct qemu_process {
    pid_t pid;
    int pidfd;            /* -1 in a captured tree */
    uint64_t start_ticks; /* clock ticks after boot */
    char exe[256];        /* what /proc/PID/exe names */
    struct qemu_cmdline config;
    enum accel accel; /* from the process itself: an open kvm-vm file or the vCPU threads' names */
    bool vcpus_known; /* false: the vCPU threads cannot be told apart, vcpus holds all threads */
    size_t n_vcpus;
    pid_t *vcpus; /* thread ids, ascending; see qemu_vcpus.h for the rule */
};

/**
 * Opens process @p pid and proves that it is a QEMU system emulator.
 * @return 0; -ESRCH no such process; -EPERM or -EACCES not permitted; -ENOEXEC not QEMU;
 *         -EINVAL its command line cannot be understood. The caller closes it with
 * qemu_process_close().
 */
int qemu_process_open(const struct fsroot *root, pid_t pid, struct qemu_process *out,
                      struct error *error);
void qemu_process_close(struct qemu_process *process);

/** Is it still the same process, alive, and not a zombie? -ESRCH when it is gone or was replaced.
 */
int qemu_process_verify(const struct fsroot *root, const struct qemu_process *process,
                        struct error *error);

/** True when the process is stopped by a signal or a tracer (state T or t). */
bool qemu_process_stopped(const struct fsroot *root, const struct qemu_process *process);

/** CPU time consumed by the vCPU threads so far, in ns (first field of
 * /proc/PID/task/TID/schedstat, else utime + stime of its stat;
 * Documentation/scheduler/sched-stats.rst). Threads that are gone count 0, so after the unplugging
 * of a vCPU the sum is smaller than before. Under TCG this is emulation time, guest code and
 * translation alike. When the vCPU threads are not known it is the CPU time of the whole process
 * (its CPU clock, clock_getcpuclockid(3)), which never falls. */
uint64_t qemu_process_vcpu_ns(const struct fsroot *root, const struct qemu_process *process);

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

/** Does the process's executable have the name of a QEMU system emulator (qemu-system-*, qemu-kvm,
 * kvm)? */
bool qemu_process_is_qemu(const struct fsroot *root, pid_t pid);

/**
 * Is @p pid now a QEMU system emulator whose command line has this -uuid? libvirt gives one to
 * every QEMU.
 * @return 0; -ESRCH no such process; -ENOEXEC it is another program, or another guest's QEMU (the
 * message says which)
 */
int qemu_process_is_of(const struct fsroot *root, pid_t pid, const char *uuid, struct error *error);

/**
 * May the socket that this QEMU has bound to @p path be that of its virtserialport of the name
 * @p port, as qemu_socket_may_be_port() has it?
 * @return 0; -EACCES it is for something else; or why the command line cannot be read
 */
int qemu_process_check_port(const struct fsroot *root, pid_t pid, const char *path,
                            const char *port, struct error *error);

/** Finds every QEMU system emulator below /proc. @p pids is allocated, the caller frees; returns
 * the count. */
ssize_t qemu_process_find_all(const struct fsroot *root, pid_t **pids);
