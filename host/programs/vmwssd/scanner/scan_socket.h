// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file scan_socket.h  One message over a channel between the two halves, with a descriptor or
 * without. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/** A pair of sockets that keep the bounds of messages. 0 or a negative errno. */
int scan_socket_pair(int fds[2]);

/** Sends @p size bytes, and @p fd if it is not -1. 0; -EPIPE: nobody is there any more; or what
 * sendmsg(2) said. */
int scan_socket_send(int channel, const void *bytes, size_t size, int fd);

/**
 * Waits for one message.
 * @param fd  NULL: a descriptor that comes with it is refused; else it is the caller's, -1 if none
 * came
 * @return its length, which is more than @p size if it did not fit; -EPIPE: the other end is
 * closed; -EAGAIN with @p flags MSG_DONTWAIT; or what recvmsg(2) said
 */
ssize_t scan_socket_receive(int channel, void *bytes, size_t size, int *fd, int flags);
