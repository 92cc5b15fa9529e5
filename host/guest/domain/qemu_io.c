// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/qemu_io.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/kernel_number.h"
#include "base/proc_pid.h"
#include "guest/domain/qemu_vcpus.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The number after @p key in a text; 0 if there is no such number. */
static uint64_t number_after(const char *text, const char *key)
{
    const char *found = strstr(text, key);
    uint64_t value = 0;

    if (found)
        kernel_u64(found + strlen(key), &value);
    return value;
}

static struct qemu_transfers parse_transfers(const char *text)
{
    return (struct qemu_transfers){.bytes = number_after(text, "wchar: "),
                                   .calls = number_after(text, "syscw: "),
                                   .read = number_after(text, "rchar: "),
                                   .reads = number_after(text, "syscr: ")};
}

struct qemu_transfers qemu_process_transfers(const struct fsroot *root,
                                             const struct qemu_process *process)
{
    char text[512];

    if (fsroot_read(root, text, sizeof(text), "proc/%d/io", (int)process->pid) <= 0)
        return (struct qemu_transfers){0};
    return parse_transfers(text);
}

struct qemu_transfers qemu_thread_transfers(const struct fsroot *root, pid_t pid, pid_t tid)
{
    char text[512];

    if (fsroot_read(root, text, sizeof(text), "proc/%d/task/%d/io", (int)pid, (int)tid) <= 0)
        return (struct qemu_transfers){0};
    return parse_transfers(text);
}

/* No core copies faster than this. */
#define COPIED_BYTES_PER_NS 8

/* Two requests of a virtio disk, of 254 pages each (QEMU hw/block/virtio-blk.c, seg-max-adjust). */
#define BYTES_A_WAIT (2ULL << 20)

/* If the main thread itself writes more than this, it copies for a monitor. */
#define MONITORS_BYTES (1ULL << 20)

/* These threads do not move a device's data: KVM's own ("kvm-nx-lpage-recovery-PID"), the thread in
 * which QEMU frees unused objects, and that of its monitors (monitor/monitor.c,
 * monitor_iothread_init()). */
static bool moves_data(const struct qemu_process *process, const struct qemu_thread *thread)
{
    bool is_vcpu = qemu_thread_accel(thread->name) != ACCEL_UNKNOWN ||
                   strncmp(thread->name, "kvm-", strlen("kvm-")) == 0 ||
                   strcmp(thread->name, "call_rcu") == 0 ||
                   strcmp(thread->name, "IO mon_iothread") == 0;

    for (size_t i = 0; i < process->n_vcpus; i++)
        is_vcpu |= process->vcpus[i] == thread->tid;
    return !is_vcpu && thread->tid != process->pid && !qemu_thread_job(thread->name);
}

/* Returns true if a file or block device of a MiB or more is open, which is presumably a guest's
 * disk. */
static bool has_disk(const struct fsroot *root, const struct qemu_process *process)
{
    cleanup_free pid_t *fds = NULL;
    char path[64];

    snprintf(path, sizeof(path), "proc/%d/fd", (int)process->pid);

    ssize_t n = root->live ? proc_numbers(root, path, &fds) : 0;

    for (ssize_t i = 0; i < n; i++) {
        struct stat file;

        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)process->pid, (int)fds[i]);
        if (stat(path, &file) == 0 &&
            (S_ISBLK(file.st_mode) || (S_ISREG(file.st_mode) && file.st_size >= 1 << 20)))
            return true;
    }
    return false;
}

static uint64_t helpers_ns(const struct fsroot *root, const struct qemu_process *process)
{
    struct qemu_threads threads = {0};
    uint64_t sum = 0;

    if (qemu_threads_read(root, process->pid, clock_ns(), &threads) == 0)
        for (size_t i = 0; i < threads.n; i++)
            if (moves_data(process, &threads.thread[i]))
                sum += qemu_thread_ns(root, process->pid, threads.thread[i].tid);
    qemu_threads_free(&threads);
    return sum;
}

uint64_t qemu_process_faults(const struct fsroot *root, const struct qemu_process *process)
{
    struct proc_stat stat;

    return proc_stat_read(root, process->pid, &stat) < 0 ? UINT64_MAX
                                                         : stat.minor_faults + stat.major_faults;
}

struct qemu_io qemu_process_io(const struct fsroot *root, const struct qemu_process *process)
{
    const int pid = (int)process->pid;
    struct qemu_io io = {.helpers_ns = helpers_ns(root, process),
                         .main_ns = qemu_thread_ns(root, process->pid, process->pid),
                         .has_disk = has_disk(root, process),
                         .faults = qemu_process_faults(root, process)};
    io.others_ns = less(qemu_process_own_ns(root, process), io.main_ns);

    char all[512];
    char main_thread[512];
    char status[8192];

    if (fsroot_read(root, status, sizeof(status), "proc/%d/task/%d/status", pid, pid) > 0)
        io.main_sleeps = number_after(status, "\nvoluntary_ctxt_switches:");
    if (fsroot_read(root, all, sizeof(all), "proc/%d/io", pid) <= 0 ||
        fsroot_read(root, main_thread, sizeof(main_thread), "proc/%d/task/%d/io", pid, pid) <= 0)
        return io;
    io.read = number_after(all, "rchar: ");
    io.written = number_after(all, "wchar: ");
    io.disk_read = number_after(all, "\nread_bytes: ");
    io.disk_written = number_after(all, "\nwrite_bytes: ");
    io.main_written = number_after(main_thread, "wchar: ");
    return io;
}

uint64_t qemu_io_monitor_bytes(const struct qemu_io *before, const struct qemu_io *now)
{
    const uint64_t written = less(now->main_written, before->main_written);

    return written >= MONITORS_BYTES ? written : 0;
}

/* If a thread has ended meanwhile, as those of a pool do that have nothing to do for ten seconds,
 * its time is among that of all the others. */
static uint64_t copied_ns(const struct qemu_io *before, const struct qemu_io *now)
{
    if (now->helpers_ns >= before->helpers_ns)
        return now->helpers_ns - before->helpers_ns;
    return before->others_ns > 0 && now->others_ns > 0 ? less(now->others_ns, before->others_ns)
                                                       : now->helpers_ns;
}

static uint64_t copied_bytes(const struct qemu_io *before, const struct qemu_io *now)
{
    const uint64_t main_bytes = less(now->main_ns, before->main_ns) * COPIED_BYTES_PER_NS;
    const uint64_t waits = less(now->main_sleeps, before->main_sleeps);
    const bool is_monitors = !now->has_disk || qemu_io_monitor_bytes(before, now) > 0;

    return copied_ns(before, now) * COPIED_BYTES_PER_NS +
           (is_monitors ? 0 : smaller(main_bytes, waits * BYTES_A_WAIT));
}

uint64_t qemu_io_device_bytes(const struct qemu_io *before, const struct qemu_io *now)
{
    const uint64_t written = less(now->written, before->written);
    const uint64_t by_main = less(now->main_written, before->main_written);
    const uint64_t to_disk = less(now->disk_written, before->disk_written);
    const uint64_t counted = less(now->read, before->read) +
                             less(now->disk_read, before->disk_read) + less(written, by_main) +
                             less(to_disk, written);

    return larger(counted, copied_bytes(before, now));
}

uint64_t qemu_io_direct_bytes(const struct qemu_io *before, const struct qemu_io *now)
{
    if (now->read + now->written == 0)
        return qemu_io_device_bytes(before, now);
    return less(now->disk_read, before->disk_read) + less(now->disk_written, before->disk_written);
}
