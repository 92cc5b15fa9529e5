// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/scanner/scan_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The largest message has some 30 KB, and there is one at a time. */
#define BUFFER_BYTES (256 << 10)

union control {
    struct cmsghdr header; /* for alignment */
    char bytes[CMSG_SPACE(sizeof(int))];
};

int scan_socket_pair(int fds[2])
{
    const int bytes = BUFFER_BYTES;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    for (int i = 0; i < 2; i++) /* net.core.wmem_default may be small; up to the system's limit */
        setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    return 0;
}

int scan_socket_send(int channel, const void *bytes, size_t size, int fd)
{
    union control control = {0};
    struct iovec data = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    ssize_t sent;

    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(fd));
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    }
    do
        sent = sendmsg(channel, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return errno == ECONNRESET ? -EPIPE : -errno;
    return (size_t)sent == size ? 0 : -EMSGSIZE;
}

/* Without room for control data the kernel closes received descriptors. */
static int fd_of(struct msghdr *message)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int fd = -1;

    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(fd)))
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    return fd;
}

/* If the other end closed without having read everything, the kernel returns ECONNRESET once,
 * before the data that the other end had sent. */
ssize_t scan_socket_receive(int channel, void *bytes, size_t size, int *fd, int flags)
{
    union control control = {0};
    struct iovec data = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    ssize_t n;

    if (fd) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
    }
    do
        n = recvmsg(channel, &message, MSG_TRUNC | MSG_CMSG_CLOEXEC | flags);
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (fd)
        *fd = n > 0 ? fd_of(&message) : -1;
    if (n < 0)
        return -errno;
    return n > 0 ? n : -EPIPE;
}

int scan_socket_take(const int *fds, int n)
{
    const int first = STDERR_FILENO + 1;
    int beyond[8];

    /* Each is moved out of the way of the others first. */
    for (int i = 0; i < n; i++)
        beyond[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, first + n);
    for (int i = 0; i < n; i++)
        if (dup2(beyond[i], first + i) < 0)
            return -errno;
    return syscall(SYS_close_range, first + n, ~0U, 0) < 0 ? -errno : 0;
}
