// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/qemu_process.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/open_dir.h"
#include "base/proc_pid.h"
#include "guest/domain/qemu_config_file.h"
#include "guest/domain/qemu_program.h"
#include "guest/domain/qemu_socket.h"
#include "guest/domain/qemu_vcpus.h"
#include "guest/domain/vmm_name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

static int no_such_process(struct error *error, pid_t pid)
{
    return error_set(error, -ESRCH, "process %d: there is no such process", (int)pid);
}

/* Explains an errno of reading /proc/PID. */
static int cannot_look(struct error *error, pid_t pid, int code)
{
    if (code == -ENOENT || code == -ESRCH)
        return no_such_process(error, pid);
    if (code == -EACCES || code == -EPERM)
        return error_set(error, code, "process %d: not permitted to look into it%s", (int)pid,
                         geteuid() == 0
                             ? ", even by root: a security module or this user namespace forbids it"
                             : "; run as root");
    return error_set(error, code, "process %d: %s", (int)pid, strerror(-code));
}

/* /proc/PID/exe without the " (deleted)" that an upgrade of QEMU puts behind it; of a long path,
 * the end. */
static int read_exe(const struct fsroot *root, pid_t pid, char exe[256])
{
    static const char deleted[] = " (deleted)";
    char target[PATH_MAX];
    ssize_t n = fsroot_readlink(root, target, sizeof(target), "proc/%d/exe", (int)pid);
    size_t tail = sizeof(deleted) - 1;

    if (n < 0)
        return (int)n;
    if ((size_t)n > tail && strcmp(target + n - tail, deleted) == 0)
        target[(size_t)n - tail] = '\0';

    const size_t length = strlen(target);

    strcpy(exe, target + (length < 256 ? 0 : length - 255));
    return 0;
}

static int identify_qemu(const struct fsroot *root, pid_t pid, char exe[256], struct error *error)
{
    int rc = read_exe(root, pid, exe);

    if (rc == -ENOENT) /* a kernel thread */
        return error_set(error, -ENOEXEC, "process %d: not a QEMU system emulator", (int)pid);
    if (rc < 0)
        return cannot_look(error, pid, rc);
    if (qemu_program_is(root, pid, exe))
        return 0;
    return error_set(error, -ENOEXEC, "process %d: not a QEMU system emulator (it runs %s)",
                     (int)pid, exe);
}

/* The process that the name of this one says it cleans up after; 0: none. Source: QEMU
 * util/async-teardown.c. */
static pid_t cleans_up_after(const struct fsroot *root, pid_t pid)
{
    char name[32];
    int parent;

    return fsroot_read(root, name, sizeof(name), "proc/%d/comm", (int)pid) >= 0 &&
                   sscanf(name, "cleanup/%d", &parent) == 1
               ? parent
               : 0;
}

/* The process of the same program that forked this one, and may have ended; 0: none. QEMU's
 * -async-teardown makes a child with QEMU's memory, which frees it when QEMU has ended; it is no
 * other guest. */
static pid_t forked_by(const struct fsroot *root, pid_t pid)
{
    struct proc_stat child;
    struct proc_stat parent;
    char exe[256];
    char its[256];

    if (proc_stat_read(root, pid, &child) < 0 || child.start_stack == 0 ||
        proc_stat_read(root, child.parent, &parent) < 0 ||
        parent.start_stack != child.start_stack || read_exe(root, pid, exe) < 0 ||
        read_exe(root, child.parent, its) < 0 || strcmp(exe, its) != 0)
        return cleans_up_after(root, pid);
    return child.parent;
}

static int check_not_forked(const struct fsroot *root, pid_t pid, struct error *error)
{
    pid_t parent = forked_by(root, pid);

    return parent ? error_set(error, -ENOEXEC,
                              "process %d: process %d, the guest, has forked it (-async-teardown)",
                              (int)pid, (int)parent)
                  : 0;
}

/* In a captured tree nothing can be proved. */
static int identify_process(const struct fsroot *root, struct qemu_process *process,
                            struct error *error)
{
    int rc = identify_qemu(root, process->pid, process->exe, error);

    if (rc != -ENOEXEC || !process_holds_kvm_vm(root, process->pid))
        return rc;
    if (!root->live)
        return error_set(error, -EOPNOTSUPP,
                         "process %d: it has a virtual machine of KVM's but runs %s, which is not "
                         "a QEMU: where its RAM is, is not known",
                         (int)process->pid, process->exe);
    process->other_vmm = true;
    return 0;
}

static void describe_other(const struct fsroot *root, struct qemu_process *process)
{
    char *unknown = process->config.ram.unknown;

    vmm_name_find(root, process->pid, process->exe, process->config.name);
    snprintf(unknown, sizeof(process->config.ram.unknown),
             "it runs %s, which is not a QEMU, so it has to be proved", process->exe);
}

static bool is_gone(char state)
{
    return state == 'Z' || state == 'X' || state == 'x';
}

static int read_start(const struct fsroot *root, struct qemu_process *process, struct error *error)
{
    struct proc_stat stat;
    int rc = proc_stat_read(root, process->pid, &stat);

    if (rc < 0)
        return cannot_look(error, process->pid, rc);
    if (is_gone(stat.state))
        return no_such_process(error, process->pid);
    process->start_ticks = stat.start_ticks;
    process->start_stack = stat.start_stack;
    return 0;
}

struct files_of {
    const struct fsroot *root;
    pid_t pid;
};

static ssize_t read_its_file(void *context, const char *path, unsigned moved, char **text,
                             struct error *error)
{
    const struct files_of *of = context;

    return qemu_config_file_read(of->root, of->pid, path, moved, text, error);
}

static int read_cmdline(const struct fsroot *root, struct qemu_process *process,
                        struct error *error)
{
    struct files_of of = {root, process->pid};
    const struct qemu_files files = {process->exe, read_its_file, &of};
    cleanup_free char *cmdline = NULL;
    ssize_t n = fsroot_read_all(root, &cmdline, QEMU_MAX_CMDLINE_BYTES, "proc/%d/cmdline",
                                (int)process->pid);

    if (n < 0)
        return cannot_look(error, process->pid, (int)n);

    int rc = qemu_cmdline_parse(cmdline, (size_t)n, &files, &process->config, error);

    if (rc < 0)
        error_prefix(error, "process %d", (int)process->pid);
    return rc;
}

/* Pins the pid. Kernels before 5.3 have no pidfd; there the start time alone identifies the
 * process. */
static int pin(const struct fsroot *root, struct qemu_process *process, struct error *error)
{
    if (!root->live)
        return 0;
    process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->pidfd >= 0)
        process->mm_fd = fsroot_openf(root, O_RDONLY, "proc/%d/pagemap", (int)process->pid);
    if (process->pidfd >= 0 || errno == ENOSYS)
        return 0;
    if (errno == EINVAL || errno == ENOENT) /* exists, but is the id of a thread */
        return no_such_process(error, process->pid);
    return cannot_look(error, process->pid, -errno);
}

/* A pidfd becomes readable when its process ends (pidfd_open(2)). */
static bool pinned_has_ended(const struct qemu_process *process)
{
    struct pollfd p = {.fd = process->pidfd, .events = POLLIN};

    return process->pidfd >= 0 && poll(&p, 1, 0) == 1;
}

/* Reads everything by pid. If the pinned process still lives afterwards, the pid was its own all
 * the time, and everything was read from one process. */
static int read_all(const struct fsroot *root, struct qemu_process *process, struct error *error)
{
    int rc = read_start(root, process, error);

    if (rc == 0)
        rc = identify_process(root, process, error);
    if (rc == 0)
        rc = check_not_forked(root, process->pid, error);
    if (rc == 0 && process->other_vmm)
        describe_other(root, process);
    else if (rc == 0)
        rc = read_cmdline(root, process, error);
    if (rc < 0)
        return rc;
    owner_read(root, process->pid, &process->owner);
    rc = qemu_vcpus_find(root, process);
    if (rc < 0)
        return cannot_look(error, process->pid, rc);
    if (!process->config.ram.in_guest_memfd && qemu_process_holds_guest_memfd(root, process))
        process->config.ram.in_guest_memfd = "guest_memfd";
    return qemu_process_verify(root, process, error);
}

int qemu_process_open(const struct fsroot *root, pid_t pid, struct qemu_process *out,
                      struct error *error)
{
    memset(out, 0, sizeof(*out));
    out->pid = pid;
    out->pidfd = out->mm_fd = -1;
    if (pid <= 0)
        return error_set(error, -ESRCH, "process %d: a pid is a positive number", (int)pid);

    int rc = pin(root, out, error);

    if (rc == 0)
        rc = read_all(root, out, error);
    if (rc < 0)
        qemu_process_close(out);
    return rc;
}

void qemu_process_close(struct qemu_process *process)
{
    if (process->pidfd >= 0) {
        close(process->pidfd);
        if (process->mm_fd >= 0)
            close(process->mm_fd);
    }
    process->pidfd = process->mm_fd = -1;
    qemu_cmdline_free(&process->config);
    free(process->vcpus);
    process->vcpus = NULL;
    process->n_vcpus = 0;
    qemu_threads_free(&process->threads);
}

void qemu_process_renew(struct qemu_process *process, struct qemu_process *fresh)
{
    const struct qemu_process old = *process;
    const struct qemu_cmdline config = fresh->config;

    process->pidfd = fresh->pidfd;
    process->mm_fd = fresh->mm_fd;
    process->start_stack = fresh->start_stack;
    memcpy(process->exe, fresh->exe, sizeof(process->exe));
    process->accel = fresh->accel;
    process->vcpus_known = fresh->vcpus_known;
    process->n_vcpus = fresh->n_vcpus;
    process->vcpus = fresh->vcpus;
    process->threads = fresh->threads;
    *fresh = old;
    fresh->config = config;
}

/* Returns true if the address space with which it was opened has no user any more. */
static bool memory_is_gone(const struct qemu_process *process)
{
    uint64_t entry;

    return process->pidfd >= 0 && process->mm_fd >= 0 &&
           pread(process->mm_fd, &entry, sizeof(entry), 0) == 0;
}

static bool has_other_memory(const struct qemu_process *process, const struct proc_stat *stat)
{
    return (process->start_stack && stat->start_stack &&
            process->start_stack != stat->start_stack) ||
           memory_is_gone(process);
}

/* The pid is its own. When a process ends, its memory goes first, and then its executable. */
static int verify_memory(const struct fsroot *root, const struct qemu_process *process,
                         const struct proc_stat *stat, struct error *error)
{
    char exe[sizeof(process->exe)];
    int rc = read_exe(root, process->pid, exe);

    if (rc == 0 && strcmp(exe, process->exe) == 0 && !has_other_memory(process, stat))
        return 0;
    if (rc == 0 && (process->other_vmm || qemu_program_is(root, process->pid, exe)) &&
        read_exe(root, process->pid, exe) == 0)
        return error_set(error, -ESTALE,
                         "process %d: it replaced its program (exec), as QEMU does for a live "
                         "update, and with it its memory; measure again",
                         (int)process->pid);
    return error_set(error, -ESRCH, "process %d: has ended, another one has its pid now",
                     (int)process->pid);
}

int qemu_process_verify(const struct fsroot *root, const struct qemu_process *process,
                        struct error *error)
{
    struct proc_stat stat;

    if (pinned_has_ended(process))
        return error_set(error, -ESRCH, "process %d: has ended", (int)process->pid);

    int rc = proc_stat_read(root, process->pid, &stat);

    if (rc < 0)
        return cannot_look(error, process->pid, rc);
    if (is_gone(stat.state))
        return error_set(error, -ESRCH, "process %d: has ended", (int)process->pid);
    if (stat.start_ticks == process->start_ticks)
        return verify_memory(root, process, &stat, error);
    return error_set(error, -ESRCH, "process %d: has ended, another one has its pid now",
                     (int)process->pid);
}

bool qemu_process_stopped(const struct fsroot *root, const struct qemu_process *process)
{
    struct proc_stat stat;

    return proc_stat_read(root, process->pid, &stat) == 0 &&
           (stat.state == 'T' || stat.state == 't');
}

bool qemu_process_is_qemu(const struct fsroot *root, pid_t pid)
{
    char exe[256];

    return read_exe(root, pid, exe) == 0 && qemu_program_is(root, pid, exe);
}

int qemu_process_is_of(const struct fsroot *root, pid_t pid, const char *uuid, struct error *error)
{
    struct qemu_process process = {.pid = pid, .pidfd = -1};
    int rc = identify_qemu(root, pid, process.exe, error);

    if (rc == 0)
        rc = read_cmdline(root, &process, error);
    if (rc < 0)
        return rc;

    bool same = *uuid && strcasecmp(process.config.uuid, uuid) == 0;

    qemu_process_close(&process);
    return same ? 0 : error_set(error, -ENOEXEC, "process %d: another guest's QEMU", (int)pid);
}

int qemu_process_check_port(const struct fsroot *root, pid_t pid, const char *path,
                            const char *port, struct error *error)
{
    cleanup_free char *cmdline = NULL;
    ssize_t n = fsroot_read_all(root, &cmdline, QEMU_MAX_CMDLINE_BYTES, "proc/%d/cmdline",
                                (int)pid);

    if (n < 0)
        return cannot_look(error, pid, (int)n);
    if (qemu_socket_may_be_port(cmdline, (size_t)n, path, port))
        return 0;
    return error_set(error, -EACCES,
                     "process %d: by its command line %s is not the socket of virtserialport %s",
                     (int)pid, path, port);
}

/* The process of a thread; 0 if it has ended. */
static pid_t process_of(const struct fsroot *root, pid_t tid)
{
    char status[8192];
    int pid = 0;
    const char *at = fsroot_read(root, status, sizeof(status), "proc/%d/status", (int)tid) > 0
                         ? strstr(status, "\nTgid:")
                         : NULL;

    return at && sscanf(at, "\nTgid: %d", &pid) == 1 ? pid : 0;
}

/* Numbers in debugfs are those of the first namespace of processes (PROC_PID_INIT_INO of
 * include/linux/proc_ns.h). */
static bool sees_numbers_of_host(const struct fsroot *root)
{
    char link[64];

    return fsroot_readlink(root, link, sizeof(link), "proc/self/ns/pid") < 0 ||
           strcmp(link, "pid:[4026531836]") == 0;
}

/* The program behind a thread's number is asked first: for a QEMU no descriptor has to be read. */
static bool may_have_made_vm(const struct fsroot *root, pid_t pid)
{
    return pid > 0 && (qemu_process_is_qemu(root, pid) || process_holds_kvm_vm(root, pid));
}

/* KVM's debugfs has a directory for each virtual machine, named after the thread that made it and
 * its descriptor: "1234-12". Reading all descriptors of all processes instead takes some 1.5 us for
 * each. Returns the number of processes; -ENOENT if that cannot be seen, as when such a thread has
 * ended. */
static ssize_t find_vm_makers(const struct fsroot *root, pid_t **pids)
{
    cleanup_dir DIR *dir = NULL;
    const struct dirent *entry;
    size_t n = 0;
    int tid;
    int vm;

    if (!sees_numbers_of_host(root) || fsroot_opendir(root, &dir, "sys/kernel/debug/kvm") < 0)
        return -ENOENT;
    while ((entry = readdir(dir))) {
        if (sscanf(entry->d_name, "%d-%d", &tid, &vm) != 2)
            continue;

        const pid_t maker = process_of(root, tid);

        if (!may_have_made_vm(root, maker) || array_put(pids, &n, &maker, sizeof(maker)) < 0)
            return -ENOENT;
    }
    return (ssize_t)n;
}

static bool has_vm(const struct fsroot *root, pid_t pid, const pid_t *makers, ssize_t n)
{
    bool made = n < 0;

    for (ssize_t i = 0; !made && i < n; i++)
        made = makers[i] == pid;
    return made && process_holds_kvm_vm(root, pid);
}

ssize_t qemu_process_find_all(const struct fsroot *root, bool others, pid_t **pids)
{
    cleanup_free pid_t *all = NULL;
    cleanup_free pid_t *makers = NULL;
    ssize_t n = proc_numbers(root, "proc", &all);
    ssize_t n_makers = others && n > 0 ? find_vm_makers(root, &makers) : 0;
    ssize_t found = 0;

    if (n < 0)
        return n;
    for (ssize_t i = 0; i < n; i++) {
        char exe[256];

        if (read_exe(root, all[i], exe) == 0 &&
            (qemu_program_is(root, all[i], exe) ||
             (others && has_vm(root, all[i], makers, n_makers))) &&
            !forked_by(root, all[i]))
            all[found++] = all[i];
    }
    *pids = all;
    all = NULL;
    return found;
}
