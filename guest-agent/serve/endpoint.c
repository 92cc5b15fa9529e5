// SPDX-License-Identifier: LGPL-2.1-or-later
#include "serve/endpoint.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* needs the headers above */
#include <linux/vm_sockets.h>

int endpoint_device(const char *path, struct error *error)
{
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

    if (fd >= 0)
        return fd;

    int rc = -errno;
    const char *remedy = "";

    if (rc == -ENOENT)
        remedy = "; give the guest a virtio-serial port of this name (see vmwss-guest-serve(1))";
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

/* Locks the directory, because two agents may start at once: a socket that one has bound but does
 * not listen on yet would seem left over to the other. The lock leaves no file, and ends with the
 * process. Any user who may read the directory can hold it, so waiting for it ends after a second
 * (-EBUSY). Returns a file descriptor that the caller closes, or a negative errno. */
static int lock_directory(const char *path)
{
    char copy[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    int fd;

    snprintf(copy, sizeof(copy), "%s", path);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < 100; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        clock_sleep(10000000);
    }
    if (fd >= 0)
        close(fd);
    return -EBUSY;
}

static bool is_left_over(const struct sockaddr_un *address)
{
    struct stat stat;
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    return fd >= 0 && lstat(address->sun_path, &stat) == 0 && S_ISSOCK(stat.st_mode) &&
           connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
           errno == ECONNREFUSED;
}

static int bind_unix(const struct sockaddr_un *address)
{
    cleanup_close int lock = lock_directory(address->sun_path);
    int fd = listen_on(AF_UNIX, (const struct sockaddr *)address, sizeof(*address));

    if (fd != -EADDRINUSE || lock < 0 || !is_left_over(address))
        return fd;
    if (unlink(address->sun_path) < 0)
        return -errno;
    return listen_on(AF_UNIX, (const struct sockaddr *)address, sizeof(*address));
}

int endpoint_listen_unix(const char *path, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(error, -ENAMETOOLONG, "%s: too long for a socket", path);
    strcpy(address.sun_path, path);

    int fd = bind_unix(&address);

    if (fd == -EADDRINUSE)
        return error_set(error, fd, "%s: an agent listens there, or it is no socket", path);
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

/* Accepts only the host, not a process of the guest itself or of a nested guest. */
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
