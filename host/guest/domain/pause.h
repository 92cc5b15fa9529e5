// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file pause.h  A guest that stands still for a bounded time, whatever becomes of us.
 *
 * Theory of operation. A child process holds the connection, and both suspends and resumes at our
 * request. It resumes by itself when the limit is over, counted from the moment it asked for the
 * suspension, and when we die. So neither kill -9, nor ctrl-Z, nor a system call of ours that takes
 * seconds leaves the guest suspended. Should the child be killed, we resume in its place. Only what
 * kills both at once (SIGKILL to the whole cgroup) does leave it suspended: `virsh resume` or QMP
 * "cont" is the cure.
 *
 * What the limit cannot bound is QEMU's own time to stop, in which it waits for requests to the
 * disks, and a libvirt that is busy with another job on the domain. How long it took is measured,
 * and reported.
 *
 *   guest_pause_start() → guest_pause_attach() → { guest_pause_begin() → guest_pause_end() } →
 *   guest_pause_stop()
 */
#pragma once

#include "guest/domain/domain.h"

struct guest_pause; /* opaque */

/** Starts the child. From the only thread, and before libvirt is used, so that nothing of it is
 * inherited. */
int guest_pause_start(struct guest_pause **out, unsigned limit_ms, struct error *error);

/**
 * Tells the child which guest, and has it prove that it could suspend it. A domain of an embedded
 * driver is refused (-ENOTSUP), for that can be open in one process only.
 * @param uri  where guest_open_domain() found it; NULL: qemu:///system. Not used for a guest that
 *             was opened by pid: that one needs a QMP socket.
 * @return 0; else as suspender_open() and suspender_prove().
 */
int guest_pause_attach(struct guest_pause *pause, const struct guest *guest, const char *uri,
                       struct error *error);

/** Suspends the guest. 0: it stands still, until guest_pause_end() or the limit; -ENODEV: it did
 * not run; -EIO: it could not be suspended, or the child died: it has been resumed if it was
 * suspended. */
int guest_pause_begin(struct guest_pause *pause, struct error *error);

/**
 * Resumes the guest, unless that happened already.
 * @param paused_ns  from before it was suspended to after it was resumed
 * @param cut        true: the limit was over before
 */
int guest_pause_end(struct guest_pause *pause, uint64_t *paused_ns, bool *cut, struct error *error);

/** Ends the child. NULL is allowed. */
void guest_pause_stop(struct guest_pause *pause);
