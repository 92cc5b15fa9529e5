// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file context.h  The state that vmwss-balloond keeps from one tick to the next. */
#pragma once

#include "base/clock.h"
#include "measure/kernel/guest_scope.h"
#include "programs/balloond/joint_growth.h"
#include "programs/balloond/members.h"
#include "programs/balloond/reclaimer.h"

struct balloond {
    const struct balloond_config *config;
    struct journal *journal;
    struct domain_connection *libvirt; /* NULL: not connected */
    struct members members;
    struct reclaimer reclaimer; /* unused if reclaim is off */
    struct joint_growth joint;
    struct guest_scope scope; /* at the last decision */
    enum control_level level;
    uint64_t waiting_bytes;                  /* from the last decision */
    struct control_ease ease;                /* the same */
    double followed_s, decided_s, trimmed_s; /* times of the last runs, by the monotonic clock */
    double host_noted_s;                     /* when the host was last written to the journal */
    enum control_level noted_level;
    size_t n_unmeasured;   /* guests without numbers, at the last decision */
    size_t n_unreported;   /* most guests at once whose drivers are not asked, which was logged */
    bool was_late;         /* true if the last decision was late, and that was logged */
    bool was_down;         /* true if libvirt was down, and that was logged */
    bool was_blind;        /* the same for the history */
    bool was_roomless;     /* the same for reading the request of make-room */
    bool reclaim_hangs;    /* the same for the kernel's reclaim */
    bool sections_checked; /* sections that match no guest were logged */
    void (*alive)(void);   /* called before each guest, to keep the watchdog alive */
};

/** The time of the monotonic clock, and of the wall clock. */
static inline double balloond_now_s(void)
{
    return (double)clock_ns() / 1e9;
}

static inline double balloond_wall_s(void)
{
    return store_clock_now().wall_s;
}
