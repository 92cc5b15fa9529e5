// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pause.h  Suspends a guest for a bounded time, even if this process dies.
 *
 * Theory of operation. A child process holds the connection, and suspends and resumes at the
 * parent's request. It also resumes when the parent dies, and when the limit is over, counted from
 * its request to suspend. So neither kill -9, nor ctrl-Z, nor a system call of the parent that
 * takes seconds leaves the guest suspended. If the child is killed, the parent resumes in its
 * place. Only a signal that kills both at once (SIGKILL to the whole cgroup) leaves the guest
 * suspended; the remedy is `virsh resume` or QMP "cont".
 *
 * The limit includes neither QEMU's own time to stop, in which it waits for disk requests, nor
 * waiting for another job of libvirt on the domain. The real time is measured and reported.
 *
 *   guest_pause_start() → guest_pause_attach() → { guest_pause_begin() → guest_pause_end() } →
 *   guest_pause_stop()
 */
#pragma once

#include "guest/domain/domain.h"

struct guest_pause; /* opaque */

/** Starts the child. Call it from the only thread, and before libvirt is used, so that the child
 * inherits nothing of libvirt. */
int guest_pause_start(struct guest_pause **out, unsigned limit_ms, struct error *error);

/**
 * Passes the guest to the child, which proves that it could suspend it. A domain of an embedded
 * driver is refused (-ENOTSUP), because that driver can be open in one process only.
 * @param uri  the URI at which guest_open_domain() found it; NULL: qemu:///system. Not used for a
 *             guest that was opened by pid: that one needs a QMP socket.
 * @return 0; else as suspender_open() and suspender_prove().
 */
int guest_pause_attach(struct guest_pause *pause, const struct guest *guest, const char *uri,
                       struct error *error);

/** Suspends the guest. 0: it is suspended until guest_pause_end() or the limit; -ENODEV: it did not
 * run; -EIO: it could not be suspended, or the child died; it has been resumed if it was
 * suspended. */
int guest_pause_begin(struct guest_pause *pause, struct error *error);

/**
 * Resumes the guest, unless it is resumed already.
 * @param paused_ns  the time from before the suspension to after the resumption
 * @param cut true: the limit ended the suspension earlier
 */
int guest_pause_end(struct guest_pause *pause, uint64_t *paused_ns, bool *cut, struct error *error);

/** Ends the child. NULL is allowed. */
void guest_pause_stop(struct guest_pause *pause);
