// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file balloond.h  One decision after the other: gathers what is known, lets control/ decide, and
 * sets balloons, or in a dry run only says what it would.
 */
#pragma once

#include "balloond/members.h"

struct balloond {
    const struct balloond_config *config;
    struct journal *journal;
    struct domain_connection *libvirt; /* NULL: not connected */
    struct members members;
    enum control_level level;
    double decided_s, trimmed_s; /* when, by the monotonic clock */
    bool adopted;                /* the balloons of the journal have been looked for */
    bool was_down;               /* libvirt or the history, and it was logged */
};

/** A tick: notices panics, and decides when it is time, or at once for a panic. What fails is
 * logged, once, and tried again at the next tick. */
void balloond_tick(struct balloond *balloond);

/** The end: restores what is configured, and closes all. */
void balloond_end(struct balloond *balloond);
