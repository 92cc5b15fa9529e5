// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file reclaimer.h  The process that writes to memory.reclaim of guests' control groups, and the
 * messages to it.
 *
 * Theory of operation. polkit cannot permit a write to memory.reclaim, which belongs to root, and
 * such a write may last: the kernel looks for cold pages, and waits for the swap. So a separate
 * process does it, forked while vmwss-balloond is root: user 0 without any capability, which can
 * write only files below /sys/fs/cgroup (Landlock, if the kernel has it), and may not make a
 * socket, run a program, or signal another process (privileges.h). In a dry run it runs as the same
 * user as the other process, which may read all requested files, with the same limit: it can write
 * nothing.
 *
 * It trusts no message: a message names a guest only by its UUID. The process finds out by itself
 * each time which process the guest is, whether the group contains only this guest, how much fits
 * into swap, and whether the swap is of the configured kind; and no order is for more than
 * RECLAIMER_MAX_BYTES. A signal ends a write after RECLAIMER_WRITE_S, once the kernel checks for
 * signals; memory reclaimed until then counts.
 *
 * A guest is a process whose command line has the UUID and whose control group is the system's. Any
 * user can start a process with that command line, but its group is then a user's, a service's or a
 * container's. If several processes qualify, the one whose group is named after a QEMU is the guest
 * (memcg_reclaim_standing()). A QEMU that was taken over can change its command line, so a process
 * that was found once remains the guest as long as it runs.
 *
 * Each guest has an allowance of RECLAIMER_MAX_BYTES that is filled by RECLAIMER_BYTES_PER_S; and
 * after each request the process rests three times as long as that took in CPU time, up to a
 * second.
 *
 * It handles one request at a time. An invalid one ends it. It ends when the other end of its
 * socket is closed for any reason.
 */
#pragma once

#include "base/fsroot.h"
#include "base/service/account.h"
#include "decide/control/reclaim.h"

#define RECLAIMER_MAX_BYTES (256 * DECIDE_MIB)
#define RECLAIMER_BYTES_PER_S (32.0 * DECIDE_MIB)
#define RECLAIMER_WRITE_S 2

struct reclaimer_request {
    char uuid[37];
    uint64_t bytes; /* 0: only read the group */
};

struct reclaimer_answer {
    char uuid[37];
    struct reclaim_group group; /* after the reclaim; seen_s is not set */
    uint64_t asked_bytes;       /* at most got_bytes if the time ran out */
    uint64_t got_bytes;         /* decrease of memory.current */
};

/** Returns true if a message of @p size bytes is a request. */
bool reclaimer_request_valid(const void *message, size_t size);

/** Handles one request, in the calling process. @p any_swap: as swap_room(). */
void reclaimer_serve(const struct fsroot *root, bool any_swap,
                     const struct reclaimer_request *request, struct reclaimer_answer *answer);

struct reclaimer {
    int fd; /* -1: there is no process */
    pid_t pid;
    bool waiting; /* waits for an answer */
    double asked_s;
};
#define RECLAIMER_NONE ((struct reclaimer){.fd = -1})

struct reclaimer_plan {
    const struct account *account; /* user for a dry run */
    bool act;
    bool any_swap;
};

/** Starts the process; call it as root, while there is only one thread. Returns 0 or negative with
 * the message. */
int reclaimer_start(struct reclaimer *reclaimer, const struct reclaimer_plan *plan,
                    struct error *error);

/** Sends a request at @p now_s. Returns 0; -EBUSY: the last one is not answered yet; -EPIPE: the
 * process has ended. */
int reclaimer_ask(struct reclaimer *reclaimer, const struct reclaimer_request *request,
                  double now_s);

/** Waits up to @p timeout_ms for the answer. Returns 1: it is there; 0: not yet, or there was no
 * request; -EPIPE: the process has ended. */
int reclaimer_hear(struct reclaimer *reclaimer, int timeout_ms, struct reclaimer_answer *answer);

/** Ends the process, and waits for its end as long as a write may last. */
void reclaimer_end(struct reclaimer *reclaimer);
