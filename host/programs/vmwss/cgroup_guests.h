// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file cgroup_guests.h  The guests of this host while page frames of control groups are sampled:
 * locks them against other measurements, and finds which frames are their RAM.
 */
#pragma once

#include "base/run_lock.h"
#include "measure/frame_set.h"
#include "measure/neighbour.h"
#include "measure/subject.h"

#include <limits.h>

struct cgroup_guest {
    struct subject subject;
    bool located; /* its RAM was found; false: the RAM counts as QEMU's other memory */
    struct run_lock lock;
    struct neighbour neighbour; /* vmwssd's panel */
    char path[PATH_MAX];        /* path of its control group; "" */
};

struct cgroup_guests {
    const struct fsroot *root; /* borrowed */
    size_t n;
    struct cgroup_guest *guests;
    struct frame_set ram;   /* frames of guest RAM */
    struct frame_set taken; /* heads of the folios that vmwssd's panels hold */
};

/**
 * Finds every QEMU of this host, locks it, and reads which frames its RAM has. Warns about guests
 * whose RAM cannot be located: their RAM counts as QEMU's other memory.
 * @param wait  how to wait for guests that another vmwss measures
 * @return 0; -EBUSY such a guest, named; -EINTR; -EACCES not root; -ENOMEM. To be closed by
 *         cgroup_guests_close() in either case.
 */
int cgroup_guests_open(struct cgroup_guests *guests, const struct fsroot *root,
                       const struct lock_wait *wait, struct error *error);
void cgroup_guests_close(struct cgroup_guests *guests);
