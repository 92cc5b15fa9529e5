// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file control.h  The control law of the host: memory given to and requested from all guests, as
 * pure functions over plain structs. No clock, no libvirt, no allocation.
 *
 * Theory of operation. decide/advice/ computes for each guest alone how much memory it should have.
 * Here the host's free memory limits what can be given, and its shortage determines which guests
 * are asked to give:
 *
 *   donors      No guest while the host is ample, unless proactive. Otherwise those with the lowest
 *               rho first (idle memory tax: Waldspurger, OSDI 2002, section 5.1), as much as is
 *               missing: up to the level's end, the room that was requested, or the waiting
 *               growth. Memory that deflating guests will return counts as free.
 *   pace        decide_step(): three decisions and ten minutes, then at most 5 %, 256 MiB and half
 *               of what is available to the guest, each time. Not within an hour of its growth,
 *               unless less than the level soft is free. While less than hard is free, or growth
 *               waited in the last decision, twenty seconds replace the ten minutes (for guests
 *               known for ten minutes), and the hour does not apply.
 *   growth      At once and all of it, but never from the last free memory: the sum of all that is
 *               given now, or was given and is not touched yet, leaves the threshold hard free.
 *               Growth that does not fit waits until free memory shows that the donors' resident
 *               memory has fallen: growth in two phases. Panics first, then the highest rho.
 *               Guests that touch memory which they had all the time can take the host below hard;
 *               leaving more than hard free would cost more (tests/bench/results/balloons.md).
 *   give back   While the host is ample, what guests had comes back in steps: giving_back.h.
 *   trust       The host's own measurements (the working set) and the reservation may take free
 *               memory down to hard. Claims of the guest alone (its statistics, its pressure) may
 *               do so up to the guest's share of the memory that guests can have; beyond it only
 *               what is free above 1.25 times high, and nothing while the host is short. So a guest
 *               that lies cannot cause others to be asked. Statistics that contradict the host's
 *               numbers give a guest no more than it had before our first target.
 *   reclaim     If it is on: the part of the missing memory that balloons did not give is requested
 *               from the control groups of guests whose balloons had nothing to give, or do not
 *               work, lowest rho first (reclaim.h). Never from a guest whose balloon is used in
 *               this decision.
 *   virtio-mem  For a guest with such a device that may be used, its requested size is set first,
 *               in whole blocks, and the balloon provides the rest (actuators.h). All of the above
 *               applies to the sum of both: progress, inhibition, the restored size.
 *   never       below the decision's target, its floor and the reservation; above M, and above what
 *               the guest had at the start if its owner does not allow that; a guest that
 *               is excluded, inhibited or moved by another program (balloon_state.h).
 *
 * The caller decides every ten seconds, and at once when a guest panics. It sets what is ordered,
 * and reports that by balloon_issued(); a dry run does not, and the next decision starts from the
 * same state.
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
#define N_CONTROL_ACTIONS 7

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
#define N_HOLDS 14

struct control_policy {
    struct decide_policy decide;
    struct levels_policy levels;
    struct balloon_policy balloon;
    struct reclaim_policy reclaim;
    bool proactive; /* false: lazy, take only what is missing */
};

/** Sets the defaults: lazy. */
void control_policy_init(struct control_policy *policy);

struct control_host {
    uint64_t total_bytes;
    uint64_t hugetlb_bytes;   /* part of it in the pool of huge pages, which nothing else can use */
    uint64_t free_bytes;      /* memory usable without swapping: MemAvailable */
    uint64_t growth_bytes;    /* p99.9 of the guests' joint growth in 60 s; 0: not known */
    uint64_t room_bytes;      /* memory to keep free (make-room); 0: no more than the levels want */
    double now_s;             /* the time of any clock that is never set back */
    enum control_level level; /* in: of the last decision; out: of this one */
    /* in and out, as level: growth in guests with a running driver that waits for memory from
     * donors */
    uint64_t waiting_bytes;
    double ample_since_s;   /* in and out, as level: no shortage and no request since; 0: not so */
    struct levels levels;   /* out */
    uint64_t budget_bytes;  /* out: memory available for growth */
    uint64_t missing_bytes; /* out: total asked of donors; UINT64_MAX: all they can give */
};

struct control_guest {
    /* In. control_run() sets limit_bytes, panic_bytes, panic_age_s, host_short and host_urgent of
     * the input. */
    struct decide_input input;
    /* In, for a guest whose virtio-mem may be used: both actuators, which add up to actual_bytes.
     * For other guests plug is all zero, and the balloon is the only actuator. */
    struct actuator plug, balloon;
    /* In: the most that its owner allows it to have, where that is more than it had at the start;
     * 0: no more */
    uint64_t allowed_bytes;
    const char *plug_refused; /* In: why its virtio-mem may not be used; NULL: it may be used */
    bool excluded;
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
    uint64_t target_bytes;  /* target for its balloon; with CONTROL_NONE its current size */
    uint64_t plug_bytes;    /* part of target_bytes to request of its virtio-mem; 0: it has none */
    uint64_t reclaim_bytes; /* with CONTROL_RECLAIM; otherwise 0 */
    enum reclaim_hold reclaim_hold;
    uint64_t wish_bytes;  /* its target without the host's limits */
    uint64_t share_bytes; /* its maximum claim while the host is short */
};

/** Makes one decision for the whole host. Sets the fields marked out, and advances the states. */
void control_run(const struct control_policy *policy, struct control_host *host,
                 struct control_guest *guests, size_t n);

/** Returns true if the guest has virtio-mem that may be used. */
static inline bool control_has_plug(const struct control_guest *guest)
{
    return guest->plug.most_bytes > 0;
}

/** Sizes that guests are left with when the controller ends. */
enum control_restore { RESTORE_BEFORE, RESTORE_MAX, RESTORE_HOLD };

/** Orders the final sizes of the balloons whose target we have set, within the host's free memory;
 * call after control_run(). Lowers no balloon: a guest that was given more keeps it. */
void control_restore(const struct control_host *host, enum control_restore restore,
                     struct control_guest *guests, size_t n);
