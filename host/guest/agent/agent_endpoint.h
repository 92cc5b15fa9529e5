// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_endpoint.h  The host's way to a guest's agent: QEMU's end of the virtio-serial port,
 * or AF_VSOCK. */
#pragma once

#include "base/error.h"
#include "guest/domain/agent_port.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent_endpoint {
    char path[256];     /* path of the Unix socket; empty: vsock */
    uint32_t vsock_cid; /* used if path is empty */
    char uuid[37];      /* UUID of the domain; used if path is not empty */
    bool closed;        /* libvirt reported that no program in the guest has the port open */
    pid_t ours;         /* pid of another process of ours, for agent_endpoint_connect(); 0: none */
};

/**
 * Chooses the endpoint from the domain's live XML: the port, or vsock if the domain has it and no
 * program in the guest has the port open.
 * @return 0; -ENOENT there is no endpoint: the message has the XML that adds one; -EOPNOTSUPP the
 * port is connected elsewhere
 */
int agent_endpoint_choose(const struct agent_port *port, struct agent_endpoint *out,
                          struct error *error);

/** Returns true if both are the same endpoint. */
bool agent_endpoint_same(const struct agent_endpoint *one, const struct agent_endpoint *other);

/**
 * Begins to connect, without waiting.
 *
 * QEMU's user can write the socket's directory, so a guest that has broken out into its QEMU can
 * replace the socket by anything, and the caller may connect to every socket of the host. So the
 * path must name a socket and not a symbolic link, and the process that called listen(2) on it
 * (SO_PEERCRED, unix(7)) must be the QEMU with the domain's UUID; QEMU does so even on a socket
 * that libvirt passes to it (util/qemu-sockets.c socket_listen()). A socket of this process, or of
 * @p endpoint->ours, is accepted as well, because an embedded driver listens on it before QEMU
 * does. QEMU's command line must not use the socket for another purpose, such as its monitor
 * (qemu_socket_may_be_port()). If any check fails, nothing is sent.
 * @return a non-blocking descriptor: connected when poll() reports POLLOUT and SO_ERROR is 0.
 *         -EAGAIN: the queue of waiting clients is full, because QEMU serves one client at a time;
 *         -ELOOP a symbolic link; -ENOTSOCK not a socket; -EACCES another process serves it, or it
 *         is not the agent's; or the error of open(2), socket(2) or connect(2), with the message.
 */
int agent_endpoint_connect(const struct agent_endpoint *endpoint, struct error *error);

/** "socket PATH" or "vsock CID:PORT", for messages. */
char *agent_endpoint_name(const struct agent_endpoint *endpoint, char *text, size_t size);
