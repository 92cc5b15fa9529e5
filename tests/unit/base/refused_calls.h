// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file refused_calls.h  Calls that must be refused whatever the table of call_filter.h says, and
 * calls that the scanner needs. */
#pragma once

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { SCANNER = 1, REST = 2, RECLAIMER = 4, KEEPER = 8, ALL = 15 };

#define UPPER (1ULL << 32) /* the kernel ignores it in an argument of 32 bits */

struct one_call {
    int call;
    unsigned processes;
    uint64_t arguments[6];
};
#define NEVER(name, ...)     \
    {                        \
        SCMP_SYS(name), ALL, \
        {                    \
            __VA_ARGS__      \
        }                    \
    }
#define NOT_BY(processes, name, ...) \
    {                                \
        SCMP_SYS(name), processes,   \
        {                            \
            __VA_ARGS__              \
        }                            \
    }
#define NO_IOCTL(request) NEVER(ioctl, 3, request), NEVER(ioctl, 3, UPPER | (request))
#define NO_FCNTL(command) NEVER(fcntl, 3, command), NEVER(fcntl, 3, UPPER | (command))
#define NO_PRCTL(option) NEVER(prctl, option)
#define NO_ADVICE(advice) NEVER(process_madvise, 3, 0, 0, advice)
#define NOT_OPENED(flags)                                                  \
    NOT_BY(SCANNER, open, 0, flags), NOT_BY(SCANNER, openat, 3, 0, flags), \
        NOT_BY(SCANNER, openat, 3, 0, UPPER | (flags))

static const struct one_call refused[] = {
    /* mounts and namespaces */
    NEVER(mount),
    NEVER(umount2),
    NEVER(pivot_root),
    NEVER(chroot),
    NEVER(setns),
    NEVER(unshare),
    NEVER(fsopen),
    NEVER(fsconfig),
    NEVER(fsmount),
    NEVER(fspick),
    NEVER(move_mount),
    NEVER(open_tree),
    NEVER(mount_setattr),
    {467 /* open_tree_attr */, ALL, {0}},
    {457 /* statmount */, ALL, {0}},
    {458 /* listmount */, ALL, {0}},
    {470 /* listns */, ALL, {0}},
    NEVER(quotactl),
    NEVER(quotactl_fd),
    NEVER(clone3),
    NEVER(clone, CLONE_NEWUSER),
    NEVER(clone, CLONE_NEWNS),
    NEVER(clone, CLONE_NEWPID),
    NEVER(clone, CLONE_NEWNET),
    NEVER(clone, CLONE_NEWCGROUP),
    NEVER(clone, CLONE_NEWIPC),
    NEVER(clone, CLONE_NEWUTS),
    NEVER(clone, CLONE_VM | CLONE_NEWUSER),
    /* files of others */
    NEVER(fanotify_init),
    NEVER(fanotify_mark),
    NEVER(name_to_handle_at),
    NEVER(open_by_handle_at),
    NO_IOCTL(FIFREEZE),
    NO_IOCTL(FITHAW),
    NO_IOCTL(FITRIM),
    NO_IOCTL(FIDEDUPERANGE),
    NO_IOCTL(FICLONE),
    NO_IOCTL(FS_IOC_SETFLAGS),
    NO_IOCTL(FS_IOC_FSSETXATTR),
    NO_IOCTL(BLKDISCARD),
    NO_IOCTL(BLKROSET),
    NO_IOCTL(BLKFLSBUF),
    NO_IOCTL(0x5b18 /* EXT4_IOC_SHUTDOWN's kind */),
    {463 /* setxattrat */, ALL, {0}},
    {466 /* removexattrat */, ALL, {0}},
    {469 /* file_setattr */, ALL, {0}},
    NEVER(setxattr),
    NEVER(fsetxattr),
    NEVER(mknod),
    NEVER(mknodat),
    NEVER(sync),
    NEVER(syncfs),
    /* other processes */
    NEVER(process_vm_writev),
    NOT_BY(REST | RECLAIMER | KEEPER, process_vm_readv),
    NEVER(kcmp),
    NEVER(pidfd_getfd),
    NEVER(pidfd_send_signal),
    NEVER(process_mrelease),
    NEVER(migrate_pages),
    NEVER(move_pages, 1, 1, 0, 0, 0, 2),
    NEVER(move_pages, 0, 1, 0, 0, 0),
    NEVER(userfaultfd),
    NEVER(sched_setscheduler),
    NEVER(sched_setparam),
    NEVER(sched_setattr),
    NEVER(sched_setaffinity),
    NEVER(ioprio_set),
    NEVER(setpriority, PRIO_PROCESS, 1),
    NEVER(setpriority, PRIO_USER, 0),
    NEVER(setpriority, PRIO_PGRP, 0),
    NEVER(setpgid),
    NEVER(prlimit64, 1),
    NEVER(kill, 1, 9),
    NEVER(kill, UINT64_MAX, 9),
    NEVER(kill, 0, 9),
    NEVER(tkill, 1, 9),
    NEVER(tgkill, 1, 1, 9),
    NEVER(rt_sigqueueinfo),
    NEVER(rt_tgsigqueueinfo),
#ifndef __SANITIZE_ADDRESS__
    NEVER(ptrace),
    NO_PRCTL(PR_SET_PTRACER),
#endif
    NO_FCNTL(F_SETOWN),
    NO_FCNTL(F_SETOWN_EX),
    NO_FCNTL(F_SETSIG),
    NO_FCNTL(F_NOTIFY),
    NO_FCNTL(F_SETLEASE),
    NO_IOCTL(FIOSETOWN),
    NO_IOCTL(SIOCSPGRP),
    NO_IOCTL(FIOASYNC),
    NO_IOCTL(TIOCSTI),
    NO_IOCTL(TIOCLINUX),
    NO_IOCTL(TIOCSCTTY),
    NO_IOCTL(TIOCSPGRP),
    NO_PRCTL(62 /* PR_SCHED_CORE */),
    NO_PRCTL(PR_SET_MM),
    NO_PRCTL(PR_SET_CHILD_SUBREAPER),
    /* of memory that others map, too: they are killed by SIGBUS */
    NEVER(madvise, 0, 4096, MADV_HWPOISON),
    NEVER(madvise, 0, 4096, UPPER | MADV_HWPOISON),
    NEVER(madvise, 0, 4096, 101 /* MADV_SOFT_OFFLINE */),
    NEVER(madvise, 0, 4096, 132),
    NO_ADVICE(MADV_DONTNEED),
    NO_ADVICE(MADV_FREE),
    NO_ADVICE(MADV_REMOVE),
    NO_ADVICE(MADV_HWPOISON),
    NO_ADVICE(101 /* MADV_SOFT_OFFLINE */),
    NO_ADVICE(MADV_WILLNEED),
    NO_ADVICE(MADV_MERGEABLE),
    NO_ADVICE(MADV_HUGEPAGE),
    NEVER(perf_event_open, 0, UINT64_MAX, 0, 0, PERF_FLAG_FD_CLOEXEC), /* a CPU */
    NEVER(perf_event_open, 0, 0xffffffff, 0, 0, PERF_FLAG_FD_CLOEXEC),
    NEVER(perf_event_open, 0, 3, 0, 0, PERF_FLAG_PID_CGROUP),
    NO_IOCTL(PERF_EVENT_IOC_SET_BPF),
    NO_IOCTL(PERF_EVENT_IOC_MODIFY_ATTRIBUTES),
    /* the kernel and the machine */
    NEVER(bpf),
    NEVER(io_uring_setup),
    NEVER(io_uring_enter),
    NEVER(io_uring_register),
    NEVER(io_setup),
    NEVER(add_key),
    NEVER(request_key),
    NEVER(keyctl),
    NEVER(init_module),
    NEVER(finit_module),
    NEVER(delete_module),
    NEVER(kexec_load),
    NEVER(kexec_file_load),
    NEVER(reboot),
    NEVER(swapon),
    NEVER(swapoff),
    NEVER(acct),
    NEVER(syslog),
    NEVER(iopl),
    NEVER(ioperm),
    NEVER(settimeofday),
    NEVER(clock_settime),
    NEVER(clock_adjtime),
    NEVER(adjtimex),
    NEVER(sethostname),
    NEVER(setdomainname),
    NEVER(vhangup),
    NEVER(personality),
    {453 /* map_shadow_stack */, ALL, {0}},
    {460 /* lsm_set_self_attr */, ALL, {0}},
    {600, ALL, {0}}, /* of a later kernel */
    {601, ALL, {0}},
    NEVER(modify_ldt),
    NEVER(lookup_dcookie),
    NEVER(mbind),
    NEVER(set_mempolicy),
    NEVER(memfd_secret),
    NEVER(pkey_mprotect),
    NEVER(remap_file_pages),
    NEVER(shmget),
    NEVER(msgget),
    NEVER(semget),
    NEVER(mq_open),
    NEVER(timer_create),
    /* programs and users */
    NEVER(execve),
    NEVER(execveat),
    NEVER(setuid),
    NEVER(setgid),
    NEVER(setresuid),
    NEVER(setresgid),
    NEVER(setreuid),
    NEVER(setregid),
    NEVER(setfsuid),
    NEVER(setfsgid),
    NEVER(setgroups),
    NO_PRCTL(PR_SET_KEEPCAPS),
    NO_PRCTL(PR_SET_SECUREBITS),
    /* the network */
    NEVER(listen),
    NEVER(accept),
    NEVER(accept4),
    NEVER(socket, AF_INET),
    NEVER(socket, AF_INET6),
    NEVER(socket, AF_PACKET),
    NEVER(socket, AF_ALG),
    NEVER(socket, AF_TIPC),
    NEVER(socket, AF_XDP),
    NEVER(socket, AF_BLUETOOTH),
    NEVER(socketpair, AF_TIPC),
    NEVER(socketpair, AF_UNIX, SOCK_DGRAM),
    NEVER(socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC),
    NEVER(socketpair, AF_UNIX, UPPER | SOCK_DGRAM),
    NEVER(socketpair, AF_UNIX, SOCK_RAW),
    NOT_BY(SCANNER, socket, AF_UNIX, SOCK_DGRAM),
    NOT_BY(SCANNER, socket, AF_UNIX, SOCK_RAW | SOCK_NONBLOCK),
    NO_IOCTL(SIOCSIFFLAGS),
    NO_IOCTL(SIOCSIFADDR),
    NOT_BY(SCANNER, bind),
    NOT_BY(SCANNER, socket, AF_NETLINK),
    /* files: the scanner opens none for writing */
    NOT_OPENED(O_WRONLY),
    NOT_OPENED(O_RDWR),
    NOT_OPENED(O_ACCMODE),
    NOT_OPENED(O_CREAT),
    NOT_OPENED(O_TRUNC),
    NOT_OPENED(O_TMPFILE),
    NOT_BY(SCANNER, openat2),
    NOT_BY(SCANNER, creat),
    NOT_BY(SCANNER | RECLAIMER, unlink),
    NOT_BY(SCANNER | RECLAIMER, unlinkat),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, rename),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, renameat),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, renameat2),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, link),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, linkat),
    NEVER(symlink),
    NEVER(symlinkat),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, mkdir),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, mkdirat),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, rmdir),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, chmod),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, fchmod),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, fchmodat),
    {452 /* fchmodat2 */, SCANNER | RECLAIMER | KEEPER, {0}},
    NOT_BY(SCANNER | RECLAIMER | KEEPER, chown),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, lchown),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, fchown),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, fchownat),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, truncate),
    NEVER(setxattr),
    NEVER(lsetxattr),
    NEVER(fsetxattr),
    {463 /* setxattrat */, ALL, {0}},
    NEVER(removexattr),
    NEVER(lremovexattr),
    NEVER(fremovexattr),
    {466 /* removexattrat */, ALL, {0}},
    {469 /* file_setattr */, ALL, {0}},
    NEVER(utime),
    NEVER(utimes),
    NEVER(futimesat),
    NOT_BY(SCANNER | RECLAIMER | KEEPER, utimensat),
    NOT_BY(RECLAIMER, openat, 3, 0, O_WRONLY | O_CREAT),
    NOT_BY(RECLAIMER, openat, 3, 0, O_RDONLY | O_TRUNC),
    NOT_BY(RECLAIMER | KEEPER, socket, AF_UNIX),
    NOT_BY(RECLAIMER | KEEPER, connect),
    NOT_BY(SCANNER | REST | RECLAIMER, perf_event_open, 0, 3, UINT64_MAX, UINT64_MAX,
           PERF_FLAG_FD_CLOEXEC),
    NOT_BY(REST | RECLAIMER | KEEPER, process_madvise, 3, 0, 0, 20),
};

/* The scanner needs these; 20, 21, 25 are MADV_COLD, MADV_PAGEOUT, MADV_COLLAPSE. */
static const struct one_call needed[] = {
    NOT_BY(SCANNER, openat, 3, 0, O_RDONLY | O_CLOEXEC | O_NOFOLLOW),
    NOT_BY(SCANNER, openat, 3, 0, O_PATH | O_DIRECTORY | O_CLOEXEC),
    NOT_BY(SCANNER, ioctl, 3, _IOC(_IOC_READ | _IOC_WRITE, 'f', 16, 96) /* PAGEMAP_SCAN */),
    NOT_BY(SCANNER, ioctl, 3, PERF_EVENT_IOC_ENABLE),
    NOT_BY(SCANNER, ioctl, 3, PERF_EVENT_IOC_SET_FILTER),
    NOT_BY(SCANNER, process_madvise, 3, 0, 0, 20),
    NOT_BY(SCANNER, process_vm_readv),
    NOT_BY(SCANNER, process_madvise, 3, 0, 0, 21),
    NOT_BY(SCANNER, process_madvise, 3, 0, 0, 25),
    NOT_BY(KEEPER, perf_event_open, 0, 3, UINT64_MAX, UINT64_MAX, PERF_FLAG_FD_CLOEXEC),
    NOT_BY(SCANNER, clone, SIGCHLD), /* a guardian */
    NOT_BY(SCANNER, socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC),
    NOT_BY(ALL, kill, 1, 0),
    NOT_BY(ALL, clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND),
    NOT_BY(ALL, prctl, PR_SET_NAME),
    NOT_BY(ALL, prlimit64, 0),
    NOT_BY(ALL, rseq),
    NOT_BY(ALL, madvise, 0, 4096, MADV_DONTNEED),
    NOT_BY(ALL, madvise, 0, 4096, MADV_DONTDUMP),
    NOT_BY(ALL, madvise, 0, 4096, 102 /* MADV_GUARD_INSTALL */),
};
