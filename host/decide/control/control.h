// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file control.h  What all guests of a host are given and asked for: the control law of the host,
 * as pure functions over plain structs. No clock, no libvirt, no allocation.
 *
 * Theory of operation. decide/advice/ says of each guest alone how much memory it should have; here
 * the host's free memory limits what can be given, and its shortage says who is asked to give:
 *
 *   who gives   No guest while the host is ample, unless proactive. Else those with the lowest rho
 *               first (idle memory taxed: Waldspurger, OSDI 2002, section 5.1), as much as is
 *               missing: to the level's end, to the room that was asked for, to the growth that
 *               waits. What balloons on their way down will return counts as there.
 *   how fast    decide_step(): three decisions and ten minutes, then at most 5 %, 256 MiB and half
 *               of what is available to the guest, each time. Not within an hour of its growth,
 *               unless less than the level soft is free. Twenty seconds for the ten minutes
 *               (of guests known for that long), and without that hour, where less than hard is
 *               free, or growth waited in the last decision.
 *   growth      At once and all of it, but never from the last free memory: the sum of what is
 *               given, and was given and is not touched yet, leaves the threshold hard free. What
 *               does not fit waits until free memory shows that the donors' resident memory has
 *               fallen: growth in two phases. Panics first, then the highest rho. What guests touch
 *               of memory that they had all the time can take the host below hard; growth that
 *               leaves more than hard costs more than that (tests/bench/README.md).
 *   trust       What the host measured itself (the working set) and the reservation may take free
 *               memory down to hard. What only the guest claims (its statistics, its pressure) may
 *               do so up to the guest's share of the memory that guests can have; beyond it only
 *               what is free above 1.25 times high, and nothing while the host is short. So a guest
 *               that lies cannot bring others to be asked. Statistics that contradict the host's
 *               numbers give a guest no more than it had before our first target.
 *   reclaim     Where it is on: what balloons did not give of what is missing is asked of the
 *               control groups of guests whose balloons had nothing to give, or do not work, lowest
 *               rho first (reclaim.h). Never of a guest whose balloon is used in this decision.
 *   virtio-mem  Of a guest with such a device that may be used, what is requested of it is set
 *               first, in whole blocks, and by the balloon what is left (actuators.h). All of the
 *               above is of the sum of both: progress, inhibition, what is restored.
 *   never       below the decision's target, its floor and the reservation; above M; a guest that
 *               is excluded, inhibited or moved by another hand (balloon_state.h).
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

/** What is to be done with one balloon. */
enum control_action {
    CONTROL_NONE,
    CONTROL_SHRINK,
    CONTROL_GROW,
    CONTROL_FULL,    /* all that is assigned, at once */
    CONTROL_SETTLE,  /* it does not come further: what it has becomes its target */
    CONTROL_RESTORE, /* what it had before our first target */
    CONTROL_RECLAIM, /* its balloon is left as it is, and reclaim_bytes are reclaimed */
};
#define N_CONTROL_ACTIONS 7

/** Why it is no more than that. */
enum control_hold {
    HOLD_NONE,
    HOLD_DECISION, /* decide_why() says it: a veto, the band, or it has what it needs */
    HOLD_UNKNOWN,  /* what its balloon leaves it is not known, or it has none */
    HOLD_EXCLUDED,
    HOLD_FOREIGN,   /* another hand moves its balloon */
    HOLD_INHIBITED, /* no driver, or nothing comes back */
    HOLD_MOVING,    /* its balloon is on its way */
    HOLD_WAITING,   /* less is enough, but not for long enough yet */
    HOLD_PAUSE,     /* after a panic */
    HOLD_AMPLE,     /* the host has enough, and lazy takes nothing then */
    HOLD_OTHERS,    /* others give enough */
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
    bool proactive; /* false: lazy, takes only what is missing */
};

/** The defaults: lazy. */
void control_policy_init(struct control_policy *policy);

struct control_host {
    uint64_t total_bytes;
    uint64_t free_bytes;      /* what can be used without swapping: MemAvailable */
    uint64_t growth_bytes;    /* p99.9 of the guests' joint growth in 60 s; 0: not known */
    uint64_t room_bytes;      /* that is wanted free (make-room); 0: no more than the levels want */
    double now_s;             /* of any clock that is never set back */
    enum control_level level; /* in: the last one; out: this one's */
    uint64_t waiting_bytes;   /* of growth for what others must give, in a guest whose driver runs;
                                 in and out likewise */
    struct levels levels;     /* out */
    uint64_t budget_bytes;    /* out: what growth may have had */
    uint64_t missing_bytes;   /* out: what donors are asked for in all; UINT64_MAX: all they can */
};

struct control_guest {
    /* In. panic_bytes, panic_age_s, host_short and host_urgent of the input are set here. */
    struct decide_input input;
    /* In, of a guest whose virtio-mem may be used: both actuators, which make up actual_bytes. Of
     * others the first is all zero, and the balloon is all that there is. */
    struct actuator plug, balloon;
    const char
        *plug_refused; /* In: why its virtio-mem may not be used; NULL: nothing is against it */
    bool excluded;
    bool busy;                    /* with a job, or the last reclaim: nothing is reclaimed */
    bool served;                  /* out, within a decision; here, where it adds no padding */
    struct balloon_state state;   /* kept from one decision to the next */
    struct reclaim_group group;   /* in; unused where reclaim is off */
    struct reclaim_state reclaim; /* kept, likewise */
    /* Out. */
    struct decide_decision decision;
    enum control_action action;
    enum control_hold hold;
    uint64_t target_bytes;  /* what its balloon is to be set to; with CONTROL_NONE what it has */
    uint64_t plug_bytes;    /* of that what is to be requested of its virtio-mem; 0: it has none */
    uint64_t reclaim_bytes; /* of CONTROL_RECLAIM; else 0 */
    enum reclaim_hold reclaim_hold;
    uint64_t wish_bytes;  /* what it would be without the host's limits */
    uint64_t share_bytes; /* what it may claim while the host is short */
};

/** One decision for the whole host. Sets the fields that are out, and advances the states. */
void control_run(const struct control_policy *policy, struct control_host *host,
                 struct control_guest *guests, size_t n);

/** Has it virtio-mem that may be used? */
static inline bool control_has_plug(const struct control_guest *guest)
{
    return guest->plug.most_bytes > 0;
}

/** What is left when the controller ends. */
enum control_restore { RESTORE_BEFORE, RESTORE_MAX, RESTORE_HOLD };

/** Orders what the balloons of which we set the target are to be left with, within the host's free
 * memory; after control_run(). None is lowered: a guest that was given more keeps it. */
void control_restore(const struct control_host *host, enum control_restore restore,
                     struct control_guest *guests, size_t n);
