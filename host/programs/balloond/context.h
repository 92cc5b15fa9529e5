// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file context.h  What one tick of vmwss-balloond leaves for the next. */
#pragma once

#include "base/clock.h"
#include "programs/balloond/members.h"
#include "programs/balloond/reclaimer.h"

struct balloond {
    const struct balloond_config *config;
    struct journal *journal;
    struct domain_connection *libvirt; /* NULL: not connected */
    struct members members;
    struct reclaimer reclaimer; /* unused where reclaim is off */
    enum control_level level;
    uint64_t waiting_bytes;                  /* of the last decision */
    double followed_s, decided_s, trimmed_s; /* when, by the monotonic clock */
    double host_noted_s;                     /* likewise, in the journal */
    enum control_level noted_level;
    bool was_down;         /* libvirt, and it was logged */
    bool was_blind;        /* likewise, the history */
    bool was_roomless;     /* likewise, what make-room asks for */
    bool reclaim_hangs;    /* likewise, the kernel's reclaim */
    bool sections_checked; /* those that match no guest were logged */
    void (*alive)(void);   /* called before each guest: a watchdog waits */
};

/** By the monotonic clock, and by the wall's. */
static inline double balloond_now_s(void)
{
    return (double)clock_ns() / 1e9;
}

static inline double balloond_wall_s(void)
{
    return store_clock_now().wall_s;
}
