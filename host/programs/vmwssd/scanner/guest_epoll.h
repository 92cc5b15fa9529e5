// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_epoll.h  Guest epoll: reports events of guests between two scans, through one
 * descriptor for all guests.
 *
 * Each guest has two descriptors: that of its process, which is readable once the process has
 * ended, and that of its method, which is readable while there is data to fetch from a small buffer
 * of the kernel. An event is reported once, and again only after guest_epoll_watch().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum guest_event_kind {
    GUEST_EVENT_ENDED, /* its process has ended */
    GUEST_EVENT_FETCH, /* its method has data to fetch */
};

struct guest_event {
    uint64_t serial; /* serial number of the guest */
    enum guest_event_kind what;
};

/** Returns a descriptor for poll(2), or a negative errno. */
int guest_epoll_open(void);

/** Watches @p fd, for the first time or again, until it is closed everywhere. Returns 0 or a
 * negative errno. */
int guest_epoll_watch(int epoll_fd, int fd, uint64_t serial, enum guest_event_kind what);

/** Takes events without waiting. Returns how many of @p max were filled. */
size_t guest_epoll_take(int epoll_fd, struct guest_event *out, size_t max);
