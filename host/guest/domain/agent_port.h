// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file agent_port.h  How a domain gives access to our agent in its guest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct agent_port {
    bool present;       /* there is a virtio-serial port named WIRE_PORT */
    char path[256];     /* path of the Unix socket that QEMU serves; empty if it serves no socket */
    bool closed;        /* libvirt reports that the guest does not have it open */
    uint32_t vsock_cid; /* the guest's CID; 0: no vsock */
    char uuid[37];      /* UUID of the domain whose QEMU serves the socket; empty: not known */
};
