// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file endpoint.c  See endpoint.h. */
#include "serve/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* It needs the declarations before it. */
#include <linux/vm_sockets.h>

int endpoint_device(const char *path, struct error *error)
{
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

    if (fd >= 0)
        return fd;

    int rc = -errno;
    const char *remedy = "";

    if (rc == -ENOENT)
        remedy = "; give the guest a virtio-serial port of this name (see vmwss-guest(1))";
    else if (rc == -EBUSY)
        remedy = "; another agent has it open";
    return error_set(error, rc, "%s: %s%s", path, strerror(-rc), remedy);
}

static int listen_on(int domain, const struct sockaddr *address, socklen_t size)
{
    int fd = socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, address, size) == 0 && listen(fd, 4) == 0)
        return fd;

    int rc = -errno;

    if (fd >= 0)
        close(fd);
    return rc;
}

int endpoint_listen_unix(const char *path, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(error, -ENAMETOOLONG, "%s: too long for a socket", path);
    strcpy(address.sun_path, path);

    int fd = listen_on(AF_UNIX, (struct sockaddr *)&address, sizeof(address));

    if (fd == -EADDRINUSE)
        return error_set(error, fd, "%s: exists; remove it, if no agent listens there", path);
    return fd >= 0 ? fd : error_set(error, fd, "%s: %s", path, strerror(-fd));
}

int endpoint_listen_vsock(unsigned port, struct error *error)
{
    struct sockaddr_vm address = {
        .svm_family = AF_VSOCK, .svm_port = port, .svm_cid = VMADDR_CID_ANY};
    int fd = listen_on(AF_VSOCK, (struct sockaddr *)&address, sizeof(address));

    if (fd == -EAFNOSUPPORT)
        return error_set(error, fd,
                         "vsock: this kernel has none; modprobe vmw_vsock_virtio_transport");
    return fd >= 0 ? fd : error_set(error, fd, "vsock port %u: %s", port, strerror(-fd));
}

/* A process of the guest itself, or of a guest nested in it, must not pass for the host. */
static int refuse_strangers(int fd)
{
    struct sockaddr_vm peer = {0};
    socklen_t size = sizeof(peer);

    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0 ||
        (peer.svm_family == AF_VSOCK && peer.svm_cid != VMADDR_CID_HOST)) {
        close(fd);
        return -EACCES;
    }
    return fd;
}

int endpoint_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    return fd >= 0 ? refuse_strangers(fd) : -errno;
}
