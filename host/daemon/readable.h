// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file readable.h  Which guests have something to say between two looks: one descriptor for all of
 * theirs.
 *
 * Each has two: that of its process, which is readable once it has ended, and that of its method,
 * while there is something to fetch from a small buffer of the kernel's. What was told is told
 * again only after readable_watch().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum readable_what {
    READABLE_ENDED, /* its process has ended */
    READABLE_FETCH, /* its method has something to fetch */
};

struct readable {
    uint64_t serial; /* of the guest */
    enum readable_what what;
};

/** A descriptor for poll(2), or a negative errno. */
int readable_open(void);

/** Watches @p fd, for the first time or again, until it is closed everywhere. 0 or a negative
 * errno. */
int readable_watch(int readable_fd, int fd, uint64_t serial, enum readable_what what);

/** Does not wait. Returns how many of @p max were filled. */
size_t readable_take(int readable_fd, struct readable *out, size_t max);
