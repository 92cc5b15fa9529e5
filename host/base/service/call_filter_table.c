// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file call_filter_table.c  The table of call_filter.h: what is not in it fails. */
#include "base/array.h"
#include "base/service/call_filter.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define SCANNERS (CALLS_SCANNER | CALLS_AGENTS)
/* Users of libraries that may do more with files and sockets than this project's code does. */
#define LIBRARIES (CALLS_REST | CALLS_EXPORTER)
#define ALL CALLS_ALL
/* These make other processes: guardians, pages. See call_filter.h. */
#define PARENTS (SCANNERS | CALLS_EXPORTER)
#define CHILDLESS (ALL & ~PARENTS)

/* The kernel takes these arguments as 32 bits wide. */
#define INT 0xffffffffULL

#define CALL(name, roles)      \
    {                          \
        SCMP_SYS(name), roles, \
        {                      \
            {                  \
                0              \
            }                  \
        }                      \
    }
#define NUMBER(number, roles) \
    {                         \
        number, roles,        \
        {                     \
            {                 \
                0             \
            }                 \
        }                     \
    }
#define IF(name, roles, argument, mask, bits) \
    {                                         \
        SCMP_SYS(name), roles,                \
        {                                     \
            {                                 \
                argument, mask, bits          \
            }                                 \
        }                                     \
    }
#define IOCTL(request, roles) IF(ioctl, roles, 1, INT, (request)&INT)
#define FCNTL(command, roles) IF(fcntl, roles, 1, INT, command)
#define PRCTL(option, roles) IF(prctl, roles, 0, INT, option)
#define FAMILY(family, roles) IF(socket, roles, 0, INT, family)
#define LOCAL(call, roles, type)                                         \
    {                                                                    \
        SCMP_SYS(call), roles,                                           \
        {                                                                \
            {0, INT, AF_UNIX},                                           \
            {                                                            \
                1, INT & ~(uint64_t)(SOCK_CLOEXEC | SOCK_NONBLOCK), type \
            }                                                            \
        }                                                                \
    }
#define ADVICE(advice, roles) IF(process_madvise, roles, 3, INT, advice)

/* O_TMPFILE without O_DIRECTORY. */
#define TMPFILE (O_TMPFILE & ~O_DIRECTORY)
#define CHANGES (O_ACCMODE | O_CREAT | O_TRUNC | TMPFILE)
#define MAKES (O_CREAT | O_TRUNC | TMPFILE)

#define NEW_NAMESPACES                                                                            \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET)

/* <linux/fs.h> of Linux 6.7; <linux/mman.h> of 6.1. */
#define PAGEMAP_SCAN_REQUEST _IOC(_IOC_READ | _IOC_WRITE, 'f', 16, 96)
#define ADVISE_COLD 20
#define ADVISE_PAGEOUT 21
#define ADVISE_COLLAPSE 25
#define GUARDS 102         /* MADV_GUARD_INSTALL and _REMOVE: the C library guards stacks by them */
#define SET_VMA 0x53564d41 /* PR_SET_VMA: the C library names its memory */
#define MOVE_OWN 2         /* MPOL_MF_MOVE */

/* libseccomp 2.5 does not know the names of these. */
#define CALL_CACHESTAT 451
#define CALL_FCHMODAT2 452
#define CALL_FUTEX_WAKE 454
#define CALL_FUTEX_WAIT 455
#define CALL_FUTEX_REQUEUE 456
#define CALL_MSEAL 462

static const struct call_line table[] = {
    /* --- memory --- */
    CALL(brk, ALL),
    CALL(mmap, ALL),
    CALL(mmap2, ALL),
    CALL(munmap, ALL),
    CALL(mremap, ALL),
    CALL(mprotect, ALL),
    /* advice 100 and 101 (MADV_HWPOISON, MADV_SOFT_OFFLINE) takes frames from the kernel, and
     * kills other processes that map them */
    IF(madvise, ALL, 2, INT & ~0x1fULL, 0),
    IF(madvise, ALL, 2, INT & ~1ULL, GUARDS),
    CALL(mincore, ALL),
    CALL(msync, ALL),
    CALL(mlock, ALL),
    CALL(mlock2, ALL),
    CALL(munlock, ALL),
    CALL(membarrier, ALL),
    CALL(memfd_create, SCANNERS | LIBRARIES),
    NUMBER(CALL_MSEAL, ALL),
    /* --- this process and its threads --- */
    IF(clone, ALL, 0, NEW_NAMESPACES | CLONE_THREAD, CLONE_THREAD),
    IF(clone, PARENTS, 0, NEW_NAMESPACES, 0),
    CALL(fork, PARENTS),
    CALL(vfork, PARENTS),
    CALL(exit, ALL),
    CALL(exit_group, ALL),
    CALL(wait4, ALL),
    CALL(waitid, ALL),
    CALL(waitpid, ALL),
    CALL(set_tid_address, ALL),
    CALL(set_robust_list, ALL),
    CALL(get_robust_list, ALL),
    CALL(rseq, ALL),
    CALL(futex, ALL),
    CALL(futex_waitv, ALL),
    NUMBER(CALL_FUTEX_WAKE, ALL),
    NUMBER(CALL_FUTEX_WAIT, ALL),
    NUMBER(CALL_FUTEX_REQUEUE, ALL),
    CALL(gettid, ALL),
    CALL(getpid, ALL),
    CALL(getppid, ALL),
    CALL(getpgid, ALL),
    CALL(getpgrp, ALL),
    CALL(getsid, ALL),
    CALL(setsid, ALL),
    CALL(getuid, ALL),
    CALL(geteuid, ALL),
    CALL(getgid, ALL),
    CALL(getegid, ALL),
    CALL(getresuid, ALL),
    CALL(getresgid, ALL),
    CALL(getgroups, ALL),
    CALL(capget, ALL),
    CALL(capset, ALL), /* never gains one */
    CALL(arch_prctl, ALL),
    CALL(sched_yield, ALL),
    CALL(sched_getaffinity, ALL),
    CALL(sched_getparam, ALL),
    CALL(sched_getscheduler, ALL),
    CALL(sched_get_priority_max, ALL),
    CALL(sched_get_priority_min, ALL),
    CALL(getpriority, ALL),
    CALL(getcpu, ALL),
    CALL(getrandom, ALL),
    CALL(getrusage, ALL),
    CALL(getrlimit, ALL),
    CALL(setrlimit, ALL),
    CALL(sysinfo, ALL),
    CALL(uname, ALL),
    CALL(times, ALL),
    CALL(umask, ALL),
    CALL(restart_syscall, ALL),
    CALL(seccomp, ALL), /* only refuses more */
    CALL(landlock_create_ruleset, ALL),
    CALL(landlock_add_rule, ALL),
    CALL(landlock_restrict_self, ALL),
    IF(prlimit64, ALL, 0, INT, 0),
    {SCMP_SYS(setpriority), LIBRARIES, {{0, INT, 0}, {1, INT, 0}}}, /* the calling thread's */
    PRCTL(PR_SET_NAME, ALL),
    PRCTL(PR_GET_NAME, ALL),
    PRCTL(PR_SET_PDEATHSIG, ALL),
    PRCTL(PR_GET_DUMPABLE, ALL),
    PRCTL(PR_SET_DUMPABLE, ALL),
    PRCTL(PR_CAPBSET_READ, ALL),
    PRCTL(PR_CAPBSET_DROP, ALL),
    PRCTL(PR_CAP_AMBIENT, ALL),
    PRCTL(PR_GET_SECUREBITS, ALL),
    PRCTL(PR_GET_NO_NEW_PRIVS, ALL),
    PRCTL(PR_SET_NO_NEW_PRIVS, ALL),
    PRCTL(PR_GET_SECCOMP, ALL),
    PRCTL(PR_SET_SECCOMP, ALL),
    PRCTL(SET_VMA, ALL),
#if defined(__SANITIZE_ADDRESS__) ||                              \
    defined(__SANITIZE_THREAD__) /* which stop our threads by it, \
                                  * from a process of their own */
    CALL(ptrace, ALL),
    IF(clone, ALL, 0, NEW_NAMESPACES, 0),
    PRCTL(PR_SET_PTRACER, ALL),
#endif
    /* --- signals: to this process only, so that the C library can abort(); 0 is not a signal ---
     */
    CALL(rt_sigaction, ALL),
    CALL(rt_sigprocmask, ALL),
    CALL(rt_sigreturn, ALL),
    CALL(rt_sigpending, ALL),
    CALL(rt_sigsuspend, ALL),
    CALL(rt_sigtimedwait, ALL),
    CALL(sigaltstack, ALL),
    CALL(signalfd, ALL),
    CALL(signalfd4, ALL),
    CALL(pause, ALL),
    IF(kill, CHILDLESS, 0, INT, CALL_FILTER_OWN_PID),
    IF(kill, ALL, 1, INT, 0),
    IF(tgkill, CHILDLESS, 0, INT, CALL_FILTER_OWN_PID),
    /* --- time --- */
    CALL(clock_gettime, ALL),
    CALL(clock_getres, ALL),
    CALL(clock_nanosleep, ALL),
    CALL(nanosleep, ALL),
    CALL(gettimeofday, ALL),
    CALL(time, ALL),
    CALL(alarm, ALL),
    CALL(setitimer, ALL),
    CALL(getitimer, ALL),
    CALL(timerfd_create, ALL),
    CALL(timerfd_settime, ALL),
    CALL(timerfd_gettime, ALL),
    /* --- open files --- */
    CALL(read, ALL),
    CALL(write, ALL),
    CALL(readv, ALL),
    CALL(writev, ALL),
    CALL(pread64, ALL),
    CALL(pwrite64, ALL),
    CALL(preadv, ALL),
    CALL(pwritev, ALL),
    CALL(preadv2, ALL),
    CALL(pwritev2, ALL),
    CALL(close, ALL),
    CALL(close_range, ALL),
    CALL(dup, ALL),
    CALL(dup2, ALL),
    CALL(dup3, ALL),
    CALL(lseek, ALL),
    CALL(_llseek, ALL),
    CALL(fstat, ALL),
    CALL(fstatfs, ALL),
    CALL(ftruncate, ALL),
    CALL(flock, ALL),
    CALL(fsync, ALL),
    CALL(fdatasync, ALL),
    CALL(fadvise64, ALL),
    CALL(getdents, ALL),
    CALL(getdents64, ALL),
    CALL(poll, ALL),
    CALL(ppoll, ALL),
    CALL(select, ALL),
    CALL(_newselect, ALL),
    CALL(pselect6, ALL),
    CALL(epoll_create, ALL),
    CALL(epoll_create1, ALL),
    CALL(epoll_ctl, ALL),
    CALL(epoll_wait, ALL),
    CALL(epoll_pwait, ALL),
    CALL(epoll_pwait2, ALL),
    CALL(eventfd, ALL),
    CALL(eventfd2, ALL),
    CALL(pipe, ALL),
    CALL(pipe2, ALL),
    CALL(sendfile, LIBRARIES),
    CALL(fallocate, LIBRARIES),
    CALL(fchmod, LIBRARIES),
    CALL(fchown, LIBRARIES),
    CALL(inotify_init1, LIBRARIES),
    CALL(inotify_add_watch, LIBRARIES),
    CALL(inotify_rm_watch, LIBRARIES),
    /* The owner of a file is sent signals (F_SETOWN, F_SETSIG, F_NOTIFY). */
    FCNTL(F_DUPFD, ALL),
    FCNTL(F_DUPFD_CLOEXEC, ALL),
    FCNTL(F_GETFD, ALL),
    FCNTL(F_SETFD, ALL),
    FCNTL(F_GETFL, ALL),
    FCNTL(F_SETFL, ALL),
    FCNTL(F_GETLK, ALL),
    FCNTL(F_SETLK, ALL),
    FCNTL(F_SETLKW, ALL),
    FCNTL(F_OFD_GETLK, ALL),
    FCNTL(F_OFD_SETLK, ALL),
    FCNTL(F_OFD_SETLKW, ALL),
    FCNTL(F_GETPIPE_SZ, ALL),
    FCNTL(F_SETPIPE_SZ, ALL),
    FCNTL(F_ADD_SEALS, SCANNERS | LIBRARIES),
    FCNTL(F_GET_SEALS, SCANNERS | LIBRARIES),
    IOCTL(FIONREAD, ALL),
    IOCTL(FIONBIO, ALL),
    IOCTL(FIOCLEX, ALL),
    IOCTL(TCGETS, ALL), /* the C library: whether a stream is a terminal */
    IOCTL(SIOCOUTQ, CALLS_AGENTS | LIBRARIES),
    IOCTL(PAGEMAP_SCAN_REQUEST, SCANNERS),
    IOCTL(PERF_EVENT_IOC_ENABLE, SCANNERS),
    IOCTL(PERF_EVENT_IOC_DISABLE, SCANNERS),
    IOCTL(PERF_EVENT_IOC_RESET, SCANNERS),
    IOCTL(PERF_EVENT_IOC_ID, SCANNERS),
    IOCTL(PERF_EVENT_IOC_SET_OUTPUT, SCANNERS),
    IOCTL(PERF_EVENT_IOC_SET_FILTER, SCANNERS),
    /* --- names --- */
    IF(open, SCANNERS, 1, CHANGES, 0),
    IF(openat, SCANNERS, 2, CHANGES, 0),
    IF(open, CALLS_RECLAIMER, 1, MAKES, 0),
    IF(openat, CALLS_RECLAIMER, 2, MAKES, 0),
    CALL(open, LIBRARIES | CALLS_KEEPER),
    CALL(openat, LIBRARIES | CALLS_KEEPER),
    CALL(openat2, LIBRARIES | CALLS_RECLAIMER), /* by path Landlock limits the reclaimer */
    CALL(unlink, LIBRARIES),
    CALL(unlinkat, LIBRARIES | CALLS_KEEPER),
    CALL(stat, ALL),
    CALL(lstat, ALL),
    CALL(newfstatat, ALL),
    CALL(fstatat64, ALL),
    CALL(statx, ALL),
    CALL(statfs, ALL),
    CALL(access, ALL),
    CALL(faccessat, ALL),
    CALL(faccessat2, ALL),
    CALL(readlink, ALL),
    CALL(readlinkat, ALL),
    CALL(getcwd, ALL),
    CALL(chdir, ALL),
    CALL(fchdir, ALL),
    CALL(creat, LIBRARIES),
    CALL(truncate, LIBRARIES),
    CALL(rename, LIBRARIES),
    CALL(renameat, LIBRARIES),
    CALL(renameat2, LIBRARIES),
    CALL(link, LIBRARIES),
    CALL(linkat, LIBRARIES),
    CALL(mkdir, LIBRARIES),
    CALL(mkdirat, LIBRARIES),
    CALL(rmdir, LIBRARIES),
    CALL(chmod, LIBRARIES),
    CALL(fchmodat, LIBRARIES),
    NUMBER(CALL_FCHMODAT2, LIBRARIES),
    CALL(chown, LIBRARIES),
    CALL(lchown, LIBRARIES),
    CALL(fchownat, LIBRARIES),
    CALL(utimensat, LIBRARIES),
    /* --- other processes --- */
    CALL(pidfd_open, SCANNERS | LIBRARIES),
    CALL(process_vm_readv, SCANNERS), /* touches pages */
    ADVICE(ADVISE_COLD, SCANNERS),
    ADVICE(ADVISE_PAGEOUT, SCANNERS),
    ADVICE(ADVISE_COLLAPSE, SCANNERS),
    NUMBER(CALL_CACHESTAT, SCANNERS),
    /* no node; only of this process */
    {SCMP_SYS(move_pages), SCANNERS, {{0, INT, 0}, {5, INT, MOVE_OWN}}},
    /* Events of one thread, not of a CPU (pid -1) or a control group (PERF_FLAG_PID_CGROUP). */
    {SCMP_SYS(perf_event_open),
     CALLS_KEEPER,
     {{1, 0x80000000, 0}, {4, INT & ~(uint64_t)PERF_FLAG_FD_CLOEXEC, 0}}},
    /* --- sockets --- */
    CALL(sendto, ALL),
    CALL(recvfrom, ALL),
    CALL(sendmsg, ALL),
    CALL(recvmsg, ALL),
    CALL(send, ALL),
    CALL(recv, ALL),
    CALL(sendmmsg, LIBRARIES),
    CALL(recvmmsg, LIBRARIES),
    CALL(getsockopt, ALL),
    CALL(setsockopt, ALL),
    CALL(getsockname, ALL),
    CALL(getpeername, ALL),
    CALL(shutdown, ALL),
    /* not of datagrams, which sendto(2) sends to any socket that has a path, unconnected */
    LOCAL(socketpair, ALL, SOCK_STREAM),
    LOCAL(socketpair, ALL, SOCK_SEQPACKET),
    CALL(connect, CALLS_AGENTS | LIBRARIES),
    CALL(bind, LIBRARIES),
    LOCAL(socket, CALLS_AGENTS, SOCK_STREAM),
    FAMILY(AF_UNIX, LIBRARIES),
    FAMILY(AF_VSOCK, CALLS_AGENTS),
    FAMILY(AF_NETLINK, LIBRARIES),
    FAMILY(AF_INET, CALLS_EXPORTER),
    FAMILY(AF_INET6, CALLS_EXPORTER),
    CALL(listen, CALLS_EXPORTER),
    CALL(accept, CALLS_EXPORTER),
    CALL(accept4, CALLS_EXPORTER),
    CALL(execve, CALLS_EXPORTER), /* itself, to make a page */
};

const struct call_line *call_filter_table(size_t *n)
{
    *n = COUNT(table);
    return table;
}
