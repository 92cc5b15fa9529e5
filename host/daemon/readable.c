// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file readable.c  See readable.h. An epoll; serial and what share the number that it keeps for
 * us. */
#include "daemon/readable.h"

#include <errno.h>
#include <sys/epoll.h>

#define AT_ONCE 64

int readable_open(void)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

int readable_watch(int readable_fd, int fd, uint64_t serial, enum readable_what what)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT,
                                .data.u64 = serial << 1 | (what == READABLE_FETCH)};

    if (epoll_ctl(readable_fd, EPOLL_CTL_MOD, fd, &event) == 0)
        return 0;
    if (errno != ENOENT)
        return -errno;
    return epoll_ctl(readable_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

size_t readable_take(int readable_fd, struct readable *out, size_t max)
{
    struct epoll_event events[AT_ONCE];
    int n = epoll_wait(readable_fd, events, (int)(max < AT_ONCE ? max : AT_ONCE), 0);

    for (int i = 0; i < n; i++)
        out[i] = (struct readable){.serial = events[i].data.u64 >> 1,
                                   .what = events[i].data.u64 & 1 ? READABLE_FETCH
                                                                  : READABLE_ENDED};
    return n > 0 ? (size_t)n : 0;
}
