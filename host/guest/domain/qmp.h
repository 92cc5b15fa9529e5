// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qmp.h  A client for QEMU's machine protocol: it suspends a guest without libvirt, and
 * asks what is set for its migration.
 *
 * Each line is one JSON object; QEMU answers a command by "return" or "error" with the command's
 * id, and events may come in between (QEMU 7.2 docs/interop/qmp-spec.txt). QEMU's data may contain
 * text that a guest chose: a line has at most 16 KiB, every operation has a deadline, and any other
 * violation of the protocol ends the connection.
 */
#pragma once

#include "base/error.h"
#include "guest/domain/qemu_process.h"

struct json_t;
struct qmp; /* opaque */

/**
 * Connects to the QMP server of @p process (its config.qmp_path, seen from its own root and working
 * directory) and proves that the process at the other end is this one.
 * @return 0; -ENOENT it has no such socket; -EBUSY no answer within @p timeout_ms, for example
 *         because another client is connected: QEMU serves one at a time; -EPERM another process
 *         serves it; -EPROTO not QMP; or the error of connect(2).
 */
int qmp_open(const struct fsroot *root, const struct qemu_process *process, int timeout_ms,
             struct qmp **out, struct error *error);
void qmp_close(struct qmp *qmp);

/**
 * Executes a command without arguments.
 * @param result  its return value, for json_decref(); may be NULL
 * @return 0; -EIO refused: the message has QEMU's text; -ETIMEDOUT, -EPROTO or -EPIPE: the
 *         connection is unusable, and the command may or may not have been executed.
 */
int qmp_execute(struct qmp *qmp, const char *command, int timeout_ms, struct json_t **result,
                struct error *error);

/** Makes a client on a socket that is already connected, which it takes over; for tests. As
 * qmp_open(). */
int qmp_greet(int fd, int timeout_ms, struct qmp **out, struct error *error);
