// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file endpoint.h  How the agent reaches the host: a virtio-serial port, AF_VSOCK, or a Unix
 * socket. */
#pragma once

#include "base/error.h"

/** Opens the device of a virtio-serial port. Returns a file descriptor, or a negative errno with
 * the message. */
int endpoint_device(const char *path, struct error *error);

/**
 * Listens on a Unix socket at @p path, which the caller removes later. Replaces a socket there
 * without a listener (kill -9 leaves one); anything else there is an error (-EADDRINUSE).
 * @return a file descriptor, or a negative errno with the message.
 */
int endpoint_listen_unix(const char *path, struct error *error);

/** Listens on an AF_VSOCK @p port. Returns a file descriptor, or a negative errno with the
 * message. */
int endpoint_listen_vsock(unsigned port, struct error *error);

/** Accepts a connection of a listening endpoint; for AF_VSOCK only from the host. Returns a file
 * descriptor, or a negative errno. */
int endpoint_accept(int listener);
