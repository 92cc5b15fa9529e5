// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file suspend.h  Suspends and resumes a guest: through libvirt, or QEMU's own QMP socket.
 *
 * Not by SIGSTOP, which would stop all of QEMU: its I/O threads in the middle of a request, the
 * monitor that libvirt waits for, a migration; and vhost threads, which are the kernel's, would run
 * on and touch guest RAM. QMP "stop" (libvirt sends the same) stops the vCPUs, and lets requests to
 * the disks end; until they have, it does not return, and the guest stands still for longer than
 * was meant.
 */
#pragma once

#include "guest/domain/domain.h"

struct qmp;

/** Which guest, and by which way. Holds no pointers: it is sent to another process. */
struct suspend_where {
    bool by_libvirt; /* else by QMP */
    char uri[512];   /* of libvirt */
    char uuid[37];   /* of the domain */
    pid_t pid;
    uint64_t start_ticks; /* which process of that pid */
};

struct suspender {
    struct suspend_where where;
    struct fsroot root;
    struct qemu_process process;
    struct domain_connection *connection; /* libvirt: held from open to close */
    struct qmp *qmp;                      /* held only while the guest is suspended */
};

/** Pins the process; connects to nothing yet. 0; -ESRCH it is gone. On success close it. */
int suspender_open(struct suspender *suspender, const struct suspend_where *where,
                   struct error *error);
void suspender_close(struct suspender *suspender);

/** Proves that the guest could be suspended, by connecting and asking whether it runs.
 * @return 0; -ENODEV it is paused already; or the error of libvirt or QMP. */
int suspender_prove(struct suspender *suspender, struct error *error);

/** Suspends a guest that runs; -ENODEV when it does not: then nothing was done. After any other
 * error it may be suspended. */
int suspender_suspend(struct suspender *suspender, struct error *error);

/**
 * Resumes the guest, if it is still suspended by request. In any other state (a migration, an I/O
 * error, a save holds it) it is no more ours to resume.
 * @return 0: nothing is left to do; -ESRCH: it has ended; else it must be tried again.
 */
int suspender_resume(struct suspender *suspender, struct error *error);
