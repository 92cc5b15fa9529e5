// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/agent/agent_endpoint.h"

#include "base/cleanup.h"
#include "base/fsroot.h"
#include "base/wire/wire.h"
#include "guest/domain/qemu_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* This header needs the declarations before it. */
#include <linux/vm_sockets.h>

#define CHANNEL_XML "<channel type='unix'><target type='virtio' name='" WIRE_PORT "'/></channel>"

int agent_endpoint_choose(const struct agent_port *port, struct agent_endpoint *out,
                          struct error *error)
{
    bool by_port = port->path[0] && (!port->closed || !port->vsock_cid);

    *out = (struct agent_endpoint){0};
    if (by_port) {
        memcpy(out->path, port->path, sizeof(out->path));
        memcpy(out->uuid, port->uuid, sizeof(out->uuid));
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

/* Opens the socket's file with O_PATH: a link is opened itself, and refused. */
static int open_socket_file(const char *path, struct error *error)
{
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat file = {0};
    int rc = fd < 0 || fstat(fd, &file) < 0 ? -errno : 0;

    if (rc < 0)
        error_set(error, rc, "%s", strerror(-rc));
    else if (S_ISLNK(file.st_mode))
        rc = error_set(error, -ELOOP, "refused: a symbolic link; QEMU serves a socket there");
    else if (!S_ISSOCK(file.st_mode))
        rc = error_set(error, -ENOTSOCK, "refused: not a socket");
    if (rc == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Checks by the name that the server gave to the socket, whatever name led to it. */
static int check_port(int fd, const struct fsroot *root, pid_t server, struct error *error)
{
    struct sockaddr_un bound = {0};
    socklen_t size = sizeof(bound);
    char path[sizeof(bound.sun_path) + 1];

    if (getpeername(fd, (struct sockaddr *)&bound, &size) < 0)
        return error_set(error, -errno, "%s", strerror(errno));
    snprintf(path, sizeof(path), "%.*s", (int)sizeof(bound.sun_path), bound.sun_path);

    int rc = qemu_process_check_port(root, server, path, WIRE_PORT, error);

    if (rc < 0)
        error_prefix(error, "refused: QEMU serves no agent's port there");
    return rc;
}

static int check_server(int fd, const struct agent_endpoint *endpoint, struct error *error)
{
    struct ucred server;
    socklen_t size = sizeof(server);
    cleanup_root struct fsroot root = {.dirfd = -1};
    int rc = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &size) < 0 ? -errno : 0;

    if (rc == 0 && (server.pid == getpid() || (endpoint->ours && server.pid == endpoint->ours)))
        return 0;
    if (rc == 0)
        rc = fsroot_open(&root, "/");
    if (rc < 0)
        return error_set(error, rc, "%s", strerror(-rc));
    rc = qemu_process_is_of(&root, server.pid, endpoint->uuid, error);
    if (rc < 0)
        error_prefix(error, "refused: it is not this domain's QEMU that serves it");
    else
        rc = check_port(fd, &root, server.pid, error);
    return rc < 0 ? -EACCES : 0;
}

/* Connects through the descriptor of the file: it is the file that was checked, and the length of
 * its path does not matter. */
static int connect_unix(int fd, const struct agent_endpoint *endpoint, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int file_fd = open_socket_file(endpoint->path, error);

    if (file_fd < 0)
        return file_fd;
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file_fd);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return error_set(error, -errno, "%s", strerror(errno));
    return check_server(fd, endpoint, error);
}

static int connect_vsock(int fd, uint32_t cid, struct error *error)
{
    struct sockaddr_vm address = {
        .svm_family = AF_VSOCK, .svm_port = WIRE_VSOCK_PORT, .svm_cid = cid};

    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 || errno == EINPROGRESS)
        return 0;
    return error_set(error, -errno, "%s", strerror(errno));
}

static int no_vsock(int code, struct error *error)
{
    if (code == -EAFNOSUPPORT || code == -ENODEV)
        return error_set(error, code, "this host has no vsock; modprobe vhost_vsock");
    return code;
}

/* On failure sets the reason, which does not name the endpoint. */
static int connect_to(int fd, const struct agent_endpoint *endpoint, struct error *error)
{
    int rc;

    if (!endpoint->path[0])
        return no_vsock(connect_vsock(fd, endpoint->vsock_cid, error), error);
    rc = connect_unix(fd, endpoint, error);
    if (rc == -EAGAIN)
        error_set(error, rc, "in use, by vmwssd or another program; QEMU serves one at a time");
    return rc;
}

int agent_endpoint_connect(const struct agent_endpoint *endpoint, struct error *error)
{
    char name[300];
    int fd = socket(endpoint->path[0] ? AF_UNIX : AF_VSOCK,
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc = fd < 0 ? error_set(error, -errno, "%s", strerror(errno)) : 0;

    if (rc < 0)
        rc = no_vsock(rc, error);
    else
        rc = connect_to(fd, endpoint, error);
    if (rc == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    error_prefix(error, "%s", agent_endpoint_name(endpoint, name, sizeof(name)));
    return rc;
}
