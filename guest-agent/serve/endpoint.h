// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file endpoint.h  Where the agent hears the host: a virtio-serial port, AF_VSOCK, or a Unix
 * socket. */
#pragma once

#include "base/error.h"

/** Opens the device of a virtio-serial port. A file descriptor, or a negative errno with the
 * message. */
int endpoint_device(const char *path, struct error *error);

/**
 * Listens on a Unix socket at @p path, which is the caller's to remove. A socket there in which no
 * process listens, as kill -9 leaves one, is replaced; anything else is an error (-EADDRINUSE).
 * @return a file descriptor, or a negative errno with the message.
 */
int endpoint_listen_unix(const char *path, struct error *error);

/** Listens on an AF_VSOCK @p port. A file descriptor, or a negative errno with the message. */
int endpoint_listen_vsock(unsigned port, struct error *error);

/** Accepts who connected to a listening endpoint; of AF_VSOCK only the host. A file descriptor, or
 * a negative errno. */
int endpoint_accept(int listener);
