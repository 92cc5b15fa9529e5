// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file control_model.h  What the control law of the host knows of the host and of each guest, and
 * what it decides for them: see control.h.
 */
#pragma once

#include "decide/control/actuators.h"
#include "decide/control/balloon_state.h"
#include "decide/control/levels.h"
#include "decide/control/reclaim.h"

/** Action on one balloon. */
enum control_action {
    CONTROL_NONE,
    CONTROL_SHRINK,
    CONTROL_GROW,
    CONTROL_FULL,    /* all that is assigned, at once */
    CONTROL_SETTLE,  /* it does not progress: its current size becomes its target */
    CONTROL_RESTORE, /* return to the size before our first target */
    CONTROL_RECLAIM, /* the balloon stays as it is, and reclaim_bytes are reclaimed */
};

/** Reason why the guest is given no more, or asked for no more. */
enum control_hold {
    HOLD_NONE,
    HOLD_DECISION, /* see decide_why(): a veto, the band, or the guest has what it needs */
    HOLD_UNKNOWN,  /* its balloon's size is not known, or it has no balloon */
    HOLD_EXCLUDED,
    HOLD_FOREIGN,   /* another program moves its balloon */
    HOLD_INHIBITED, /* no driver, or the host gets nothing back */
    HOLD_MOVING,    /* its balloon is moving */
    HOLD_WAITING,   /* it needs less, but not for long enough yet */
    HOLD_PAUSE,     /* after a panic */
    HOLD_AMPLE,     /* the host has enough free memory, and the policy is lazy */
    HOLD_OTHERS,    /* other guests give enough */
    HOLD_ROOM,      /* it needs more: donors have not returned enough yet */
    HOLD_SHARE,     /* it claims more than its share, and the host is short */
    HOLD_BLOCK,     /* a step is less than a block of its virtio-mem, and it has no balloon */
};

struct control_policy {
    struct decide_policy decide;
    struct levels_policy levels;
    struct balloon_policy balloon;
    struct reclaim_policy reclaim;
    bool proactive; /* false: lazy, take only what is missing */
};

/** The host's ample times, see giving_back.h. Starts as all zero. */
struct control_ease {
    double since_s;   /* no shortage and no request since; 0: not so */
    double given_s;   /* guests got memory back last, though none waited for it; 0: not lately */
    unsigned n_short; /* times in a row that the host was short within an hour of that */
};

struct control_host {
    /* Memory that guests share, without pools of huge pages, and what of it is usable without
     * swapping (measure/kernel/guest_scope.h) */
    uint64_t total_bytes, free_bytes;
    const char *group;         /* the control group whose limit this is; NULL: the host */
    struct levels_pool around; /* with a group: the same of the host; all 0: not known */
    /* share of the last minute in which tasks waited for a CPU; NAN: not known */
    double cpu_some;
    uint64_t growth_bytes; /* p99.9 of the guests' joint growth in 60 s; 0: not known */
    uint64_t room_bytes;   /* memory to keep free (make-room); 0: no more than the levels want */
    double now_s;          /* the time of any clock that is never set back */
    /* The next three are both input, from the last decision, and output, of this one. */
    enum control_level level;
    /* growth that waits for memory from donors, in guests with a running driver */
    uint64_t waiting_bytes;
    struct control_ease ease;
    struct levels levels;   /* out */
    uint64_t budget_bytes;  /* out: memory available for growth */
    uint64_t missing_bytes; /* out: total asked of donors; UINT64_MAX: all they can give */
};

struct control_guest {
    /* In. control_run() sets limit_bytes, panic_bytes, panic_age_s, host_short and host_urgent of
     * the input. */
    struct decide_input input;
    /* Input: the guest's sizing actuators, whose sizes add up to actual_bytes. If the guest has
     * only the balloon, all are zero. */
    struct actuator limits[N_ACTUATORS];
    /* In: the most that its owner allows it to have, where that is more than it had at the start;
     * 0: no more */
    uint64_t allowed_bytes;
    /* In: why an actuator that the guest has may not be used; NULL: it may be used */
    const char *refused[N_ACTUATORS];
    bool excluded;
    /* Its decisions are carried out; false: a dry run. Beside guests that act, those in a
     * dry run come last, and what they would give or get changes nothing for the others. */
    bool acts;
    bool aside; /* out: it is such a guest */
    /* busy with a job, or with the last reclaim: nothing is reclaimed */
    bool busy;
    bool served;                /* out, within a decision; placed here to avoid padding */
    bool given_back;            /* out: it gets back what was taken from it, as the host is ample */
    struct balloon_state state; /* kept from one decision to the next */
    struct reclaim_group group; /* in; unused where reclaim is off */
    struct reclaim_state reclaim; /* kept from one decision to the next */
    /* Out. */
    struct decide_decision decision;
    enum control_action action;
    enum control_hold hold;
    uint64_t target_bytes; /* target for its balloon; with CONTROL_NONE its current size */
    uint64_t set_bytes[N_ACTUATORS]; /* parts of target_bytes; all 0: it has only a balloon */
    uint64_t reclaim_bytes;          /* with CONTROL_RECLAIM; otherwise 0 */
    enum reclaim_hold reclaim_hold;
    uint64_t wish_bytes;  /* its target without the host's limits */
    uint64_t share_bytes; /* its maximum claim while the host is short */
};

/** Returns the first sizing actuator of the guest that may be used. */
static inline enum actuator_number control_first(const struct control_guest *guest)
{
    unsigned first = 0;

    while (first < ACTUATOR_BALLOON && guest->limits[first].most_bytes == 0)
        first++;
    return (enum actuator_number)first;
}

/** Returns the size that the guest would come to if nothing changed: its target without the pace of
 * steps, and while the last step is being proven. */
uint64_t control_goal(const struct control_guest *guest);

/** Returns true if the guest has another sizing actuator than its balloon. */
static inline bool control_is_split(const struct control_guest *guest)
{
    return control_first(guest) != ACTUATOR_BALLOON;
}

/** Returns true if guest @p a is asked before @p b. */
static inline bool control_gives_before(const struct control_guest *a,
                                        const struct control_guest *b)
{
    return a->aside == b->aside ? a->decision.rho < b->decision.rho : b->aside;
}

/** Rounds up to whole MiB, to at most @p most. */
static inline uint64_t control_whole_mib(uint64_t bytes, uint64_t most)
{
    bytes += DECIDE_MIB - 1;
    bytes -= bytes % DECIDE_MIB;
    return bytes < most ? bytes : most;
}
