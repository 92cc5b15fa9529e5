// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_epoll.c  See guest_epoll.h. An epoll instance; its data word holds both serial and
 * kind. */
#include "programs/vmwssd/scanner/guest_epoll.h"

#include <errno.h>
#include <sys/epoll.h>

#define AT_ONCE 64

int guest_epoll_open(void)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

int guest_epoll_watch(int epoll_fd, int fd, uint64_t serial, enum guest_event_kind what)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT,
                                .data.u64 = serial << 1 | (what == GUEST_EVENT_FETCH)};

    if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0)
        return 0;
    if (errno != ENOENT)
        return -errno;
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

size_t guest_epoll_take(int epoll_fd, struct guest_event *out, size_t max)
{
    struct epoll_event events[AT_ONCE];
    int n = epoll_wait(epoll_fd, events, (int)(max < AT_ONCE ? max : AT_ONCE), 0);

    for (int i = 0; i < n; i++)
        out[i] = (struct guest_event){.serial = events[i].data.u64 >> 1,
                                      .what = events[i].data.u64 & 1 ? GUEST_EVENT_FETCH
                                                                     : GUEST_EVENT_ENDED};
    return n > 0 ? (size_t)n : 0;
}
