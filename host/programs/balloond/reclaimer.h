// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file reclaimer.h  The process that writes to memory.reclaim of guests' control groups, and the
 * messages to it.
 *
 * Theory of operation. polkit cannot permit a write to memory.reclaim, which belongs to root, and
 * such a write may last: the kernel looks for cold pages, and waits for the swap. So a process of
 * its own does it, forked while vmwss-balloond is root: user 0 without any capability, which can
 * write files below /sys/fs/cgroup and no others (Landlock, where the kernel has it), and may not
 * make a socket, run a program, or signal another process (privileges.h). In a dry run it becomes
 * the same user as the rest, who may read all that is asked for, with the same limit: it can write
 * nothing.
 *
 * It trusts no message: a guest is named by its UUID only; which process that is, whether the group
 * is this guest's alone, what fits into swap, and whether that is of the kind that is configured it
 * finds out by itself each time, and no order is for more than RECLAIMER_MAX_BYTES. A write ends
 * after RECLAIMER_WRITE_S, by a signal, once the kernel looks for one; what was reclaimed until
 * then counts.
 *
 * One question at a time. It ends when the other end of its socket is closed, however that ended.
 */
#pragma once

#include "base/fsroot.h"
#include "base/service/account.h"
#include "decide/control/reclaim.h"

#define RECLAIMER_MAX_BYTES (256 * DECIDE_MIB)
#define RECLAIMER_WRITE_S 2

struct reclaimer_request {
    char uuid[37];
    uint64_t bytes; /* 0: to look at the group only */
};

struct reclaimer_answer {
    char uuid[37];
    struct reclaim_group group; /* after that; but for seen_s */
    uint64_t asked_bytes;       /* no more than got_bytes where there was no time for more */
    uint64_t got_bytes;         /* by how much memory.current fell */
};

/** What it does with one request, in the process that calls it. @p any_swap: as swap_room(). */
void reclaimer_serve(const struct fsroot *root, bool any_swap,
                     const struct reclaimer_request *request, struct reclaimer_answer *answer);

struct reclaimer {
    int fd; /* -1: there is none */
    pid_t pid;
    bool waiting; /* for an answer */
    double asked_s;
};
#define RECLAIMER_NONE ((struct reclaimer){.fd = -1})

struct reclaimer_plan {
    const struct account *account; /* the user in a dry run */
    bool act;
    bool any_swap;
};

/** Starts it; as root, from the only thread. 0 or negative with the message. */
int reclaimer_start(struct reclaimer *reclaimer, const struct reclaimer_plan *plan,
                    struct error *error);

/** Asks it, at @p now_s. 0; -EBUSY: it has not answered the last one; -EPIPE: it has ended. */
int reclaimer_ask(struct reclaimer *reclaimer, const struct reclaimer_request *request,
                  double now_s);

/** Waits so long for the answer. 1: it is there; 0: not yet, or nothing was asked; -EPIPE: it has
 * ended. */
int reclaimer_hear(struct reclaimer *reclaimer, int timeout_ms, struct reclaimer_answer *answer);

/** Has it end, and waits until it has, as long as a write may last. */
void reclaimer_end(struct reclaimer *reclaimer);
