// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guardian.h  A child process that undoes what we changed, should we die before we could.
 *
 * For changes that the kernel does not take back when a process ends: a DAMON context, split huge
 * pages, a suspended guest. The child waits on a pipe whose other end only this process has; when
 * that is closed without a word, also by kill -9, it calls undo and exits. It has a session of its
 * own, so ctrl-C at a terminal does not reach it, and it ignores SIGTERM and SIGHUP. What kills
 * both at once (a SIGKILL to a whole cgroup) leaves the change behind; callers say what that means.
 *
 *   post the guardian → write down in shared what will be changed → change it → take it back →
 *   dismiss
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
 * Forks a child of the same kind that also works for us, as long as both live.
 * @param serve   runs in the child, with its end of a SOCK_SEQPACKET socket; an empty read is our
 *                death, or dismissal: then it undoes what is to be undone, and returns
 * @return as guardian_post(). Our end of the socket: guardian_socket().
 */
int guardian_employ(struct guardian **out, size_t shared_bytes,
                    void (*serve)(int socket, void *shared, void *context), void *context,
                    struct error *error);

/** Closed by guardian_dismiss(). Send with MSG_NOSIGNAL: the child may be gone. */
int guardian_socket(const struct guardian *guardian);

/** The child's pid. */
pid_t guardian_pid(const struct guardian *guardian);

/** The shared area; page-aligned. Write an intention there before carrying it out. */
void *guardian_shared(struct guardian *guardian);

/** Everything was taken back by the caller: the child exits without undo (an employed one when
 * serve returns), and is reaped. NULL is allowed. */
void guardian_dismiss(struct guardian *guardian);
