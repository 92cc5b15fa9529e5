// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file listen.h  The socket that requests come to. */
#pragma once

#include "base/error.h"

/** The one that systemd has passed (sd_listen_fds(3)); -ENOENT: none. -EINVAL: several, or no
 * listening stream socket. */
int listen_passed(struct error *error);

/** A new one, at "ADDRESS:PORT", "[ADDRESS]:PORT" or ":PORT" (any address); numbers only, no name
 * is looked up. The file descriptor, or -EINVAL, -EADDRINUSE, ... with the message. */
int listen_on(const char *address, struct error *error);
