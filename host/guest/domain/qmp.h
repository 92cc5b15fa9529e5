// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qmp.h  A client for QEMU's machine protocol, as far as it is needed to suspend a guest
 * without libvirt.
 *
 * One JSON object a line; a command is answered by "return" or "error" with the id it was given,
 * and events may come in between (QEMU 7.2 docs/interop/qmp-spec.txt). What QEMU sends may hold
 * what a guest chose: a line has at most 16 KiB, everything has a deadline, and whatever else
 * breaks the protocol ends the connection.
 */
#pragma once

#include "base/error.h"
#include "guest/domain/qemu_process.h"

struct json_t;
struct qmp; /* opaque */

/**
 * Connects to the QMP server of @p process (its config.qmp_path, seen from its own root and working
 * directory) and proves that the process at the other end is this one.
 * @return 0; -ENOENT it has no such socket; -EBUSY no answer within @p timeout_ms, as when
 *         another client is connected, for QEMU serves one at a time; -EPERM another process serves
 *         it; -EPROTO not QMP; or the error of connect(2).
 */
int qmp_open(const struct fsroot *root, const struct qemu_process *process, int timeout_ms,
             struct qmp **out, struct error *error);
void qmp_close(struct qmp *qmp);

/**
 * Carries out a command without arguments.
 * @param result  what it returned, for json_decref(); may be NULL
 * @return 0; -EIO refused: the message has QEMU's words; -ETIMEDOUT, -EPROTO or -EPIPE: the
 *         connection is of no more use, and whether the command was carried out is not known.
 */
int qmp_execute(struct qmp *qmp, const char *command, int timeout_ms, struct json_t **result,
                struct error *error);

/** A client on a socket that is connected already, which it takes over; for tests. As
 * qmp_open(). */
int qmp_greet(int fd, int timeout_ms, struct qmp **out, struct error *error);
