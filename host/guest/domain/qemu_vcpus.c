// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/qemu_vcpus.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/kernel_number.h"
#include "base/proc_pid.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

/* "CPU 3/KVM" → KVM; UNKNOWN for every thread other than a vCPU's. */
enum accel qemu_thread_accel(const char *name)
{
    char kind[8];

    if (sscanf(name, "CPU %*u/%7s", kind) != 1 && sscanf(name, "ALL CPUs/%7s", kind) != 1)
        return ACCEL_UNKNOWN;
    if (strcmp(kind, "KVM") == 0)
        return ACCEL_KVM;
    return strcmp(kind, "TCG") == 0 ? ACCEL_TCG : ACCEL_UNKNOWN;
}

/* Returns true if the thread leaves SIGUSR1 unblocked. */
static bool takes_sigusr1(const struct fsroot *root, pid_t pid, pid_t tid)
{
    char status[8192];
    uint64_t blocked;

    if (fsroot_read(root, status, sizeof(status), "proc/%d/task/%d/status", (int)pid, (int)tid) < 0)
        return false;
    const char *at = strstr(status, "\nSigBlk:");

    if (!at || !kernel_bits(at + strlen("\nSigBlk:"), 16, &blocked))
        return false;
    return !(blocked & (1ULL << (SIGUSR1 - 1)));
}

/* Either of them; a program may have handed the other to a helper. */
static bool is_kvm_vm(const char *target)
{
    return strcmp(target, "anon_inode:kvm-vm") == 0 ||
           strncmp(target, "anon_inode:kvm-vcpu:", strlen("anon_inode:kvm-vcpu:")) == 0;
}

/* The file is "anon_inode:[kvm-gmem]", or "/[kvm-gmem]" since it has a file system of its own
 * (virt/kvm/guest_memfd.c). */
static bool is_guest_memfd(const char *target)
{
    return strstr(target, "[kvm-gmem]") != NULL;
}

static bool is_tap(const char *target)
{
    return strcmp(target, "/dev/net/tun") == 0;
}

static bool is_vhost_net(const char *target)
{
    return strcmp(target, "/dev/vhost-net") == 0;
}

static bool is_vfio(const char *target)
{
    return strncmp(target, "/dev/vfio/", strlen("/dev/vfio/")) == 0;
}

/* Searches the open files: 1 there is a wanted one, 0 there is not, or a negative errno. */
static int holds(const struct fsroot *root, pid_t pid, bool (*wanted)(const char *target))
{
    cleanup_free pid_t *fds = NULL;
    char path[32];
    char target[64];

    snprintf(path, sizeof(path), "proc/%d/fd", (int)pid);
    ssize_t n = proc_numbers(root, path, &fds);

    if (n < 0)
        return (int)n;
    for (ssize_t i = 0; i < n; i++)
        if (fsroot_readlink(root, target, sizeof(target), "%s/%d", path, (int)fds[i]) > 0 &&
            wanted(target))
            return 1;
    return 0;
}

/* For a process whose threads have no names. If its files cannot be seen (a captured tree), its
 * options decide. */
static enum accel accel_of_files(const struct fsroot *root, const struct qemu_process *process)
{
    int kvm = holds(root, process->pid, is_kvm_vm);

    if (kvm < 0)
        return process->config.accel;
    return kvm ? ACCEL_KVM : ACCEL_TCG;
}

bool process_holds_kvm_vm(const struct fsroot *root, pid_t pid)
{
    return holds(root, pid, is_kvm_vm) > 0;
}

/* A descriptor may be a copy of another (dup(2)), so they are compared; without kcmp(2) they are
 * taken for copies. */
bool process_holds_several_vms(const struct fsroot *root, pid_t pid)
{
    cleanup_free pid_t *fds = NULL;
    char path[32];
    char target[64];
    pid_t first = -1;

    snprintf(path, sizeof(path), "proc/%d/fd", (int)pid);

    ssize_t n = proc_numbers(root, path, &fds);

    for (ssize_t i = 0; i < n; i++) {
        if (fsroot_readlink(root, target, sizeof(target), "%s/%d", path, (int)fds[i]) < 0 ||
            strcmp(target, "anon_inode:kvm-vm") != 0)
            continue;
        if (first < 0)
            first = fds[i];
        else if (syscall(SYS_kcmp, pid, pid, KCMP_FILE, first, fds[i]) > 0)
            return true;
    }
    return false;
}

bool qemu_process_holds_guest_memfd(const struct fsroot *root, const struct qemu_process *process)
{
    return holds(root, process->pid, is_guest_memfd) > 0;
}

/* Copies the ids of the threads that pick() selects to @p tids; returns their number. */
static size_t choose_threads(const struct fsroot *root, struct qemu_process *process, pid_t *tids,
                             bool (*pick)(const struct fsroot *root, struct qemu_process *process,
                                          const struct qemu_thread *thread))
{
    const struct qemu_threads *threads = &process->threads;
    size_t chosen = 0;

    for (size_t i = 0; i < threads->n && chosen < QEMU_MAX_VCPUS; i++)
        if (pick(root, process, &threads->thread[i]))
            tids[chosen++] = threads->thread[i].tid;
    return chosen;
}

static bool is_named(const struct fsroot *root, struct qemu_process *process,
                     const struct qemu_thread *thread)
{
    enum accel accel = qemu_thread_accel(thread->name);

    (void)root;
    if (accel != ACCEL_UNKNOWN)
        process->accel = accel;
    return accel != ACCEL_UNKNOWN;
}

static bool is_kicked(const struct fsroot *root, struct qemu_process *process,
                      const struct qemu_thread *thread)
{
    return takes_sigusr1(root, process->pid, thread->tid);
}

/* Guest time is counted at ticks; a vCPU that has never run for one is not known yet. */
static bool has_run_guest(const struct fsroot *root, struct qemu_process *process,
                          const struct qemu_thread *thread)
{
    struct proc_stat stat;
    char text[1024];

    return fsroot_read(root, text, sizeof(text), "proc/%d/task/%d/stat", (int)process->pid,
                       (int)thread->tid) > 0 &&
           proc_stat_parse(text, &stat) == 0 && stat.guest_ticks > 0;
}

static bool is_any(const struct fsroot *root, struct qemu_process *process,
                   const struct qemu_thread *thread)
{
    (void)root;
    (void)process;
    (void)thread;
    return true;
}

/* The first job that matches. */
unsigned qemu_thread_job(const char *name)
{
    static const struct {
        const char *begin;
        enum qemu_job job;
    } names[] = {
        {"get_dirtyrate", QEMU_JOB_DIRTY_RATE}, {"mig/dirtyrate", QEMU_JOB_DIRTY_RATE},
        {"live_migration", QEMU_JOB_MIGRATION}, {"multifdsend", QEMU_JOB_MIGRATION},
        {"bg_snapshot", QEMU_JOB_MIGRATION},    {"mig/", QEMU_JOB_MIGRATION},
        {"multifdrecv", QEMU_JOB_MIGRATION},    {"postcopy/", QEMU_JOB_MIGRATION},
        {"dump_thread", QEMU_JOB_DUMP},
    };

    for (size_t i = 0; i < COUNT(names); i++)
        if (strncmp(name, names[i].begin, strlen(names[i].begin)) == 0)
            return names[i].job;
    return 0;
}

int qemu_process_read_jobs(const struct fsroot *root, pid_t pid, unsigned *jobs)
{
    cleanup_free pid_t *tids = NULL;
    char path[32];
    char name[64];

    *jobs = 0;
    snprintf(path, sizeof(path), "proc/%d/task", (int)pid);

    ssize_t n = proc_numbers(root, path, &tids);

    for (ssize_t i = 0; i < n; i++)
        if (fsroot_read(root, name, sizeof(name), "%s/%d/comm", path, (int)tids[i]) > 0)
            *jobs |= qemu_thread_job(name);
    return n < 0 ? (int)n : 0;
}

/* A vCPU takes less to begin: 0.3 ms under TCG. */
#define VCPU_BEGINS_NS 50000000ULL

/* QEMU's main thread receives RAM before the vCPUs run for the first time. */
static unsigned incoming_job(const struct fsroot *root, const struct qemu_process *process)
{
    if (!process->config.incoming || !process->vcpus_known)
        return 0;
    for (size_t i = 0; i < process->n_vcpus; i++)
        if (qemu_thread_ns(root, process->pid, process->vcpus[i]) > VCPU_BEGINS_NS)
            return 0;
    return QEMU_JOB_MIGRATION;
}

unsigned qemu_process_jobs(const struct fsroot *root, const struct qemu_process *process)
{
    unsigned jobs;

    qemu_process_read_jobs(root, process->pid, &jobs);
    return jobs | incoming_job(root, process);
}

/* Replaces the threads known so far. */
static int keep(struct qemu_process *process, const pid_t *tids, size_t n)
{
    pid_t *vcpus = n == process->n_vcpus ? process->vcpus : malloc(n * sizeof(*vcpus));

    if (!vcpus)
        return -ENOMEM;
    if (vcpus != process->vcpus)
        free(process->vcpus);
    memcpy(vcpus, tids, n * sizeof(*vcpus));
    process->vcpus = vcpus;
    process->n_vcpus = n;
    return 0;
}

int qemu_vcpus_find(const struct fsroot *root, struct qemu_process *process)
{
    int rc = qemu_threads_read(root, process->pid, clock_ns(), &process->threads);

    if (rc < 0)
        return rc;

    cleanup_free pid_t *tids = calloc(process->threads.n, sizeof(*tids));

    if (!tids)
        return -ENOMEM;

    size_t chosen = choose_threads(root, process, tids, is_named);

    if (chosen == 0) {
        process->accel = accel_of_files(root, process);
        if (process->accel == ACCEL_KVM)
            chosen = choose_threads(root, process, tids,
                                    process->other_vmm ? has_run_guest : is_kicked);
    }
    process->vcpus_known = chosen > 0;
    if (chosen == 0)
        chosen = choose_threads(root, process, tids, is_any);
    return keep(process, tids, chosen);
}

unsigned qemu_process_jobs_found(const struct fsroot *root, const struct qemu_process *process)
{
    unsigned jobs = incoming_job(root, process);

    for (size_t i = 0; i < process->threads.n; i++)
        jobs |= qemu_thread_job(process->threads.thread[i].name);
    return jobs;
}

uint64_t qemu_thread_ns(const struct fsroot *root, pid_t pid, pid_t tid)
{
    char text[1024];
    uint64_t ns;
    struct proc_stat stat;

    if (fsroot_read(root, text, sizeof(text), "proc/%d/task/%d/schedstat", (int)pid, (int)tid) >
            0 &&
        kernel_u64(text, &ns))
        return ns;
    if (fsroot_read(root, text, sizeof(text), "proc/%d/task/%d/stat", (int)pid, (int)tid) < 0 ||
        proc_stat_parse(text, &stat) < 0)
        return 0;
    return (stat.utime_ticks + stat.stime_ticks) * (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The CPU clock of a whole process, the time of its ended threads included; 0 when it is gone. */
static uint64_t process_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec t;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static uint64_t vcpu_threads_ns(const struct fsroot *root, const struct qemu_process *process)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < process->n_vcpus; i++)
        sum += qemu_thread_ns(root, process->pid, process->vcpus[i]);
    return sum;
}

uint64_t qemu_process_vcpu_ns(const struct fsroot *root, const struct qemu_process *process)
{
    return root->live && !process->vcpus_known ? process_ns(process->pid)
                                               : vcpu_threads_ns(root, process);
}

/* The file has "NUMBER ...", "running", or nothing if the kernel does not report it. */
static bool waits_outside_kvm(const struct fsroot *root, pid_t pid, pid_t tid)
{
    char text[256];
    int number;

    return fsroot_read(root, text, sizeof(text), "proc/%d/task/%d/syscall", (int)pid, (int)tid) >
               0 &&
           sscanf(text, "%d", &number) == 1 && number != SYS_ioctl;
}

bool qemu_process_vcpus_stopped(const struct fsroot *root, const struct qemu_process *process)
{
    bool stopped = process->vcpus_known && process->n_vcpus > 0;

    for (size_t i = 0; stopped && i < process->n_vcpus; i++)
        stopped = waits_outside_kvm(root, process->pid, process->vcpus[i]);
    return stopped;
}

/* Reads the whole process first: time that the living threads use meanwhile is then not attributed
 * to ended ones. */
uint64_t qemu_process_ended_guest_ticks(const struct fsroot *root,
                                        const struct qemu_process *process)
{
    struct proc_stat stat = {0};
    uint64_t living = 0;

    if (proc_stat_read(root, process->pid, &stat) < 0)
        return 0;

    const uint64_t all = stat.guest_ticks;

    for (size_t i = 0; i < process->n_vcpus; i++) {
        char text[1024];

        if (fsroot_read(root, text, sizeof(text), "proc/%d/task/%d/stat", (int)process->pid,
                        (int)process->vcpus[i]) > 0 &&
            proc_stat_parse(text, &stat) == 0)
            living += stat.guest_ticks;
    }
    return all > living ? all - living : 0;
}

uint64_t qemu_process_own_ns_beside(const struct fsroot *root, const struct qemu_process *process,
                                    uint64_t vcpus_ns)
{
    if (!root->live || !process->vcpus_known)
        return 0;

    uint64_t all_ns = process_ns(process->pid);

    return all_ns > vcpus_ns ? all_ns - vcpus_ns : 0;
}

uint64_t qemu_process_own_ns(const struct fsroot *root, const struct qemu_process *process)
{
    return qemu_process_own_ns_beside(root, process, vcpu_threads_ns(root, process));
}

uint64_t vcpu_clock_read(struct vcpu_clock *clock, const struct fsroot *root,
                         const struct qemu_process *process)
{
    uint64_t now_ns = qemu_process_vcpu_ns(root, process);

    if (clock->begun && now_ns > clock->read_ns)
        clock->ran_ns += now_ns - clock->read_ns;
    clock->begun = true;
    clock->read_ns = now_ns;
    return clock->ran_ns;
}

/* Below this share of a time the vCPUs count as idle: a number then describes their sleep. */
#define IDLE_SHARE 0.01

bool vcpus_hardly_ran(double ran_s, double time_s)
{
    return time_s >= VCPU_CLOCK_S && ran_s < IDLE_SHARE * time_s;
}

/* "/dev/vfio/42" is a group of devices, "/dev/vfio/devices/vfio0" one of them; "/dev/vfio/vfio"
 * alone does no DMA, but is opened for a device that does. */
bool qemu_process_has_vfio(const struct fsroot *root, const struct qemu_process *process)
{
    return holds(root, process->pid, is_vfio) == 1;
}

bool qemu_process_writes_packets(const struct fsroot *root, const struct qemu_process *process)
{
    return holds(root, process->pid, is_tap) == 1 && holds(root, process->pid, is_vhost_net) != 1;
}
