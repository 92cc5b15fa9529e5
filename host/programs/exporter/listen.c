// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/listen.h"

#include "base/parse.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define BACKLOG 64

int listen_passed(struct error *error)
{
    int n = sd_listen_fds(1);

    if (n < 0)
        return error_set(error, n, "LISTEN_FDS: %s", strerror(-n));
    if (n == 0)
        return -ENOENT;
    if (n > 1)
        return error_set(error, -EINVAL, "%d sockets were passed, not one", n);
    if (sd_is_socket(SD_LISTEN_FDS_START, AF_UNSPEC, SOCK_STREAM, 1) <= 0)
        return error_set(error, -EINVAL,
                         "the socket that was passed is not a listening stream socket");
    return SD_LISTEN_FDS_START;
}

/* Splits "[ADDRESS]:PORT". */
static int split_address(char *text, const char **host, const char **port)
{
    char *colon = strrchr(text, ':');
    size_t n;

    if (!colon || !colon[1])
        return -EINVAL;
    *colon = '\0';
    *port = colon + 1;
    n = strlen(text);
    if (text[0] == '[' && n > 2 && text[n - 1] == ']') {
        text[n - 1] = '\0';
        text++;
    } else if (strchr(text, ':')) {
        return -EINVAL; /* IPv6 without brackets: the start of the port is ambiguous */
    }
    *host = *text ? text : NULL;
    return 0;
}

static int resolve(const char *address, struct addrinfo **found)
{
    const struct addrinfo hints = {
        .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
    };
    char copy[128];
    const char *host;
    const char *port;
    uint64_t number;

    if (strlen(address) >= sizeof(copy))
        return -EINVAL;
    snprintf(copy, sizeof(copy), "%s", address);
    /* getaddrinfo() would take 65537 for 1. */
    if (split_address(copy, &host, &port) < 0 || parse_u64(port, 0, UINT16_MAX, &number) < 0)
        return -EINVAL;
    return getaddrinfo(host, port, &hints, found) == 0 ? 0 : -EINVAL;
}

static int open_listening(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int yes = 1;
    int rc = 0;

    if (fd < 0)
        return -errno;
    /* Connections of an earlier process may linger. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, at->ai_addr, at->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
        rc = -errno;
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

int listen_on(const char *address, struct error *error)
{
    struct addrinfo *found = NULL;
    int rc = resolve(address, &found);

    if (rc < 0)
        return error_set(error, rc,
                         "--listen %s: expected ADDRESS:PORT, as in 127.0.0.1:9100 or [::1]:9100",
                         address);
    rc = open_listening(found);
    freeaddrinfo(found);
    return rc >= 0 ? rc : error_set(error, rc, "%s: %s", address, strerror(-rc));
}
