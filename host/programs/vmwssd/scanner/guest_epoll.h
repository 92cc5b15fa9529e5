// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file guest_epoll.h  Guest epoll: which guests have events between two scans, by one descriptor
 * for all of theirs.
 *
 * Each has two: that of its process, which is readable once it has ended, and that of its method,
 * while there is something to fetch from a small buffer of the kernel's. An event is reported once,
 * and again only after guest_epoll_watch().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum guest_event_kind {
    GUEST_EVENT_ENDED, /* its process has ended */
    GUEST_EVENT_FETCH, /* its method has something to fetch */
};

struct guest_event {
    uint64_t serial; /* of the guest */
    enum guest_event_kind what;
};

/** A descriptor for poll(2), or a negative errno. */
int guest_epoll_open(void);

/** Watches @p fd, for the first time or again, until it is closed everywhere. 0 or a negative
 * errno. */
int guest_epoll_watch(int epoll_fd, int fd, uint64_t serial, enum guest_event_kind what);

/** Does not wait. Returns how many of @p max were filled. */
size_t guest_epoll_take(int epoll_fd, struct guest_event *out, size_t max);
