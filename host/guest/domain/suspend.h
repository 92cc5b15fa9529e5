// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file suspend.h  Suspends and resumes a guest: through libvirt, or QEMU's own QMP socket.
 *
 * SIGSTOP is not used: it would stop all of QEMU, including I/O threads in the middle of a request,
 * the monitor that libvirt waits for, and a migration; and vhost threads, which belong to the
 * kernel, would run on and touch guest RAM. QMP "stop" (libvirt sends the same) stops the vCPUs,
 * and lets requests to the disks end. It does not return before that, so the guest may be suspended
 * for longer than intended.
 */
#pragma once

#include "guest/domain/domain.h"

struct qmp;

/** A guest, and how to suspend it. It has no pointers, because it is sent to another process. */
struct suspend_where {
    bool by_libvirt; /* false: by QMP */
    char uri[512];   /* libvirt's URI */
    char uuid[37];   /* the domain's UUID */
    pid_t pid;
    uint64_t start_ticks; /* identifies the process of that pid */
};

struct suspender {
    struct suspend_where where;
    struct fsroot root;
    struct qemu_process process;
    struct domain_connection *connection; /* libvirt: held from open to close */
    struct qmp *qmp;                      /* held only while the guest is suspended */
};

/** Pins the process without connecting. 0; -ESRCH it is gone. On success close it. */
int suspender_open(struct suspender *suspender, const struct suspend_where *where,
                   struct error *error);
void suspender_close(struct suspender *suspender);

/**
 * Proves that the guest could be suspended, by connecting and querying its state.
 * @return 0; -ENODEV it is paused already; or the error of libvirt or QMP.
 */
int suspender_prove(struct suspender *suspender, struct error *error);

/** Suspends a running guest; -ENODEV if it does not run: then nothing was done. After any other
 * error it may be suspended. */
int suspender_suspend(struct suspender *suspender, struct error *error);

/**
 * Resumes the guest, if it is still suspended by request. In any other state (held by a migration,
 * an I/O error or a save) this program must not resume it.
 * @return 0: done; -ESRCH: it has ended; any other error: try again.
 */
int suspender_resume(struct suspender *suspender, struct error *error);
