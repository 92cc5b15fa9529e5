// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_port.h  Ways that a domain offers to our agent in its guest.
 *
 * Source: libvirt docs/formatdomain.rst, "Channel" (for a live domain it has the socket that QEMU
 * serves and, for a virtio port, whether the guest has it open) and "Vsock".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct agent_port {
    bool present;       /* a virtio-serial port of the name WIRE_PORT */
    char path[256];     /* path of the Unix socket that QEMU serves; empty if it serves no socket */
    bool closed;        /* libvirt reports that the guest does not have it open */
    uint32_t vsock_cid; /* the guest's CID; 0: no vsock */
    char uuid[37];      /* UUID of the domain whose QEMU serves the socket; empty: not known */
};
