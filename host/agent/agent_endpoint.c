// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agent_endpoint.c  See agent_endpoint.h. */
#include "agent/agent_endpoint.h"

#include "base/cleanup.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* It needs the declarations before it. */
#include <linux/vm_sockets.h>

#define CHANNEL_XML "<channel type='unix'><target type='virtio' name='" WIRE_PORT "'/></channel>"

int agent_endpoint_choose(const struct agent_port *port, struct agent_endpoint *out,
                          struct error *error)
{
    bool by_port = port->path[0] && (!port->closed || !port->vsock_cid);

    *out = (struct agent_endpoint){0};
    if (by_port) {
        memcpy(out->path, port->path, sizeof(out->path));
        out->closed = port->closed;
        return 0;
    }
    out->vsock_cid = port->vsock_cid;
    if (out->vsock_cid)
        return 0;
    if (port->present)
        return error_set(
            error, -EOPNOTSUPP,
            "no way to an agent: its channel is no Unix socket that QEMU serves; make it " CHANNEL_XML);
    return error_set(
        error, -ENOENT,
        "no way to an agent: the domain has no channel for it; add to its <devices> " CHANNEL_XML
        " (virsh edit; virsh attach-device for a running one)");
}

bool agent_endpoint_same(const struct agent_endpoint *one, const struct agent_endpoint *other)
{
    return strcmp(one->path, other->path) == 0 && one->vsock_cid == other->vsock_cid;
}

char *agent_endpoint_name(const struct agent_endpoint *endpoint, char *text, size_t size)
{
    if (endpoint->path[0])
        snprintf(text, size, "socket %s", endpoint->path);
    else
        snprintf(text, size, "vsock %u:%d", endpoint->vsock_cid, WIRE_VSOCK_PORT);
    return text;
}

/* Through a descriptor of the socket's file, so that the length of its path does not matter. */
static int connect_unix(int fd, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int file_fd = open(path, O_PATH | O_CLOEXEC);

    if (file_fd < 0)
        return -1;
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file_fd);
    return connect(fd, (struct sockaddr *)&address, sizeof(address));
}

static int connect_vsock(int fd, uint32_t cid)
{
    struct sockaddr_vm address = {
        .svm_family = AF_VSOCK, .svm_port = WIRE_VSOCK_PORT, .svm_cid = cid};

    return connect(fd, (struct sockaddr *)&address, sizeof(address));
}

static int not_connected(const struct agent_endpoint *endpoint, int code, struct error *error)
{
    char name[300];

    agent_endpoint_name(endpoint, name, sizeof(name));
    if (code == -EAGAIN)
        return error_set(error, code,
                         "%s: in use, by vmwssd or another program; QEMU serves one at a time",
                         name);
    if (!endpoint->path[0] && (code == -EAFNOSUPPORT || code == -ENODEV))
        return error_set(error, code, "%s: this host has no vsock; modprobe vhost_vsock", name);
    return error_set(error, code, "%s: %s", name, strerror(-code));
}

int agent_endpoint_connect(const struct agent_endpoint *endpoint, struct error *error)
{
    bool by_port = endpoint->path[0] != '\0';
    int fd = socket(by_port ? AF_UNIX : AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc = -1;

    if (fd >= 0)
        rc = by_port ? connect_unix(fd, endpoint->path) : connect_vsock(fd, endpoint->vsock_cid);
    if (rc == 0 || (fd >= 0 && errno == EINPROGRESS))
        return fd;
    rc = -errno;
    if (fd >= 0)
        close(fd);
    return not_connected(endpoint, rc, error);
}
