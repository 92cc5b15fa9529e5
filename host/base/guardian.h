// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guardian.h  A child process that undoes this process's changes if it dies before it has
 * undone them itself.
 *
 * It is for changes that the kernel does not undo when a process ends: a DAMON context, split huge
 * pages, a suspended guest. The child waits on a pipe whose other end only this process has; when
 * that end closes without a message, also by kill -9, the child calls undo and exits. It has a
 * session of its own, so ctrl-C at a terminal does not reach it, and it ignores SIGTERM and SIGHUP.
 * If it was stopped (SIGSTOP), the end of this process, or its dismissal, lets it go on.
 * A signal that kills both at once (a SIGKILL to a whole cgroup) leaves the change behind; callers
 * document the consequences.
 *
 *   post the guardian → note the coming change in shared → make it → undo it → dismiss
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <sys/types.h>

struct guardian; /* opaque */

/**
 * Forks the guardian. Call it from the only thread, before the first change.
 * @param undo          runs in the child, at most once; @p context is the child's copy of the
 *                      caller's memory at this moment. It must not rely on anything changed later,
 *                      except through @p shared.
 * @param shared_bytes  size of a zeroed area that both processes see: guardian_shared()
 * @return 0, then *out must be given to guardian_dismiss(); or a negative errno.
 */
int guardian_post(struct guardian **out, size_t shared_bytes,
                  void (*undo)(void *shared, void *context), void *context, struct error *error);

/**
 * Forks a child of the same kind that also serves this process, as long as both live.
 * @param serve   runs in the child, with its end of a SOCK_SEQPACKET socket; an empty read means
 *                that this process died or dismissed the child: serve then undoes the remaining
 *                changes and returns
 * @return as guardian_post(). guardian_socket() is this process's end of the socket.
 */
int guardian_employ(struct guardian **out, size_t shared_bytes,
                    void (*serve)(int socket, void *shared, void *context), void *context,
                    struct error *error);

/** The socket to the employed child; guardian_dismiss() closes it. Send with MSG_NOSIGNAL: the
 * child may be gone. */
int guardian_socket(const struct guardian *guardian);

/** The child's pid. */
pid_t guardian_pid(const struct guardian *guardian);

/** Lets the child go on if it was stopped: for a caller that has waited for it too long. */
void guardian_wake(const struct guardian *guardian);

/** The shared area, page-aligned. Write each change there before you make it. */
void *guardian_shared(struct guardian *guardian);

/** Dismisses the guardian after the caller has undone everything: the child exits without undo (an
 * employed child when serve returns) and is reaped. @p guardian may be NULL. */
void guardian_dismiss(struct guardian *guardian);
