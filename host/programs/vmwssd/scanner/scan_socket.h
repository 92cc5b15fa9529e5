// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scan_socket.h  Sends one message over a channel between the two halves, with or without a
 * descriptor. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/** Makes a pair of sockets that preserve message boundaries. Returns 0 or a negative errno. */
int scan_socket_pair(int fds[2]);

/** Sends @p size bytes, and @p fd if it is not -1. Returns 0; -EPIPE: the other end is closed; or
 * the error of sendmsg(2). */
int scan_socket_send(int channel, const void *bytes, size_t size, int fd);

/**
 * Waits for one message.
 * @param fd NULL: a descriptor that comes with it is refused; otherwise the caller owns the
 *           descriptor, -1 if there is none
 * @return its length, which is more than @p size if it did not fit; -EPIPE: the other end is
 *         closed; -EAGAIN with @p flags MSG_DONTWAIT; or the error of recvmsg(2)
 */
ssize_t scan_socket_receive(int channel, void *bytes, size_t size, int *fd, int flags);

/** In a child that serves the scanner: makes @p fds[0..n) the descriptors 3, 4, ..., and closes all
 * others but standard input, output and error: among them is vmwssd's lock. @p n: 8 at most.
 * Returns 0 or a negative errno. */
int scan_socket_take(const int *fds, int n);
