// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file listen.h  The socket for requests. */
#pragma once

#include "base/error.h"

/** Returns the socket that systemd has passed (sd_listen_fds(3)); -ENOENT: none. -EINVAL: several
 * sockets, or not a listening stream socket. */
int listen_passed(struct error *error);

/** Makes a socket at "ADDRESS:PORT", "[ADDRESS]:PORT" or ":PORT" (any address); only numbers, names
 * are not resolved. Returns the file descriptor, or -EINVAL, -EADDRINUSE, ... with the message. */
int listen_on(const char *address, struct error *error);
