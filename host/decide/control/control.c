// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/control/control.h"

#include "base/bytes.h"
#include "decide/control/giving_back.h"

#include <string.h>

void control_policy_init(struct control_policy *policy)
{
    *policy = (struct control_policy){
        .decide = decide_policy_default,
        .levels = {.high_min_bytes = 256 * DECIDE_MIB,
                   .soft_share = 0.64,
                   .hard_share = 0.32,
                   .low_share = 0.16,
                   .leave_factor = 1.25},
        .balloon = balloon_policy_default,
        .reclaim = reclaim_policy_default,
    };
    policy->decide.needs_statistics = true;
}

/* --- each guest alone ------------------------------------------------------------------------- */

static bool is_in_need(const struct control_guest *guest)
{
    return guest->decision.panics != 0 || guest->decision.claims != 0;
}

/* Reason why its balloon may not be touched at all. A panic is served even while another program
 * moves the balloon. */
static enum control_hold find_obstacle(const struct control_guest *guest, double now_s)
{
    if (guest->excluded)
        return HOLD_EXCLUDED;
    if (guest->input.actual_bytes == DECIDE_UNKNOWN)
        return HOLD_UNKNOWN;
    if (guest->state.trouble == TROUBLE_FOREIGN &&
        (!is_in_need(guest) || balloon_is_contested(&guest->state, now_s)))
        return HOLD_FOREIGN;
    return (guest->state.rested && !balloon_is_plugging(&guest->state)) || guest->decision.panics
               ? HOLD_NONE
               : HOLD_MOVING;
}

/* An inhibited guest is not shrunk again, and gets back what it had; an untrusted guest gets no
 * more than that for its claims. */
static uint64_t wish_of(const struct control_guest *guest, uint64_t step_bytes)
{
    const struct decide_input *input = &guest->input;
    uint64_t actual = decide_actual(input);

    if (balloon_is_inhibited(&guest->state) || guest->decision.claims)
        return smaller(larger(larger(actual, guest->state.before_bytes), step_bytes),
                       decide_most(input));
    return step_bytes < actual ? control_whole_mib(step_bytes, actual) : step_bytes;
}

static enum control_hold hold_of(const struct control_guest *guest, double now_s)
{
    if (balloon_is_inhibited(&guest->state))
        return HOLD_INHIBITED;
    if (guest->decision.action != ACTION_SHRINK)
        return HOLD_DECISION;
    return now_s < guest->state.pace.paused_until_s ? HOLD_PAUSE : HOLD_WAITING;
}

static enum control_action growth_action(const struct control_guest *guest)
{
    if (guest->decision.panics && guest->target_bytes == decide_most(&guest->input))
        return CONTROL_FULL;
    return balloon_is_inhibited(&guest->state) ? CONTROL_RESTORE : CONTROL_GROW;
}

/* Orders again a size that may not have reached the guest and that it still needs. The size counts
 * as given, so it takes nothing more. */
static void order_again(struct control_guest *guest)
{
    if (guest->wish_bytes <= guest->target_bytes)
        return;
    guest->target_bytes = guest->state.set_bytes;
    guest->action = growth_action(guest);
    guest->hold = HOLD_NONE;
}

static void decide_one(const struct control_policy *policy, struct control_guest *guest,
                       double now_s)
{
    struct decide_input *input = &guest->input;
    struct balloon_state *state = &guest->state;

    balloon_observe(state, &policy->balloon, input, now_s);
    balloon_date(state, &policy->balloon, input, now_s);
    input->limit_bytes = balloon_limit(state, input, guest->allowed_bytes);
    decide_remember(&state->pace, now_s, input);
    decide(&policy->decide, input, &guest->decision);
    guest->wish_bytes = wish_of(
        guest, decide_step(&state->pace, &policy->decide, input, &guest->decision, now_s));
    guest->action = CONTROL_NONE;
    guest->given_back = false;
    guest->target_bytes = decide_actual(input);
    guest->hold = find_obstacle(guest, now_s);
    guest->served = guest->hold != HOLD_NONE;
    if (guest->served)
        return;
    guest->hold = hold_of(guest, now_s);
    if (state->stalled) /* if growth is granted, that is ordered instead */
        guest->action = CONTROL_SETTLE;
    if (state->stalled && guest->wish_bytes <= guest->target_bytes) {
        guest->hold = balloon_is_inhibited(state) ? HOLD_INHIBITED : HOLD_NONE;
        guest->served = true;
    } else if (state->moving && guest->wish_bytes <= balloon_given(state, input)) {
        guest->hold = HOLD_MOVING;
        guest->served = true;
        if (balloon_is_unsure(state))
            order_again(guest);
    }
}

/* --- the host's memory ------------------------------------------------------------------------ */

static void share_out(const struct control_host *host, struct control_guest *guests, size_t n)
{
    double pool = (double)less(host->free_bytes, host->levels.threshold_bytes[LEVEL_HIGH]);
    double shares = 0;

    for (size_t i = 0; i < n; i++) {
        pool += (double)guests[i].input.resident_bytes;
        shares += decide_shares(&guests[i].input);
    }
    for (size_t i = 0; i < n; i++) {
        const struct decide_input *input = &guests[i].input;
        double part = shares > 0 ? pool * decide_shares(input) / shares : 0;

        guests[i].share_bytes = smaller(larger((uint64_t)part, input->reserved_bytes),
                                        input->assigned_bytes);
    }
}

static uint64_t pending(const struct control_guest *guests, size_t n)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        bytes += guests[i].state.pending_bytes;
    return bytes;
}

/* Returns the free memory that can be given before the threshold is reached. */
static uint64_t budget_above(const struct control_host *host, enum control_level level,
                             uint64_t pending_bytes)
{
    return less(host->free_bytes, host->levels.threshold_bytes[level] + pending_bytes);
}

/* --- order of guests -------------------------------------------------------------------------- */

static bool is_urgent(const struct control_guest *guest)
{
    return is_in_need(guest) || balloon_is_inhibited(&guest->state);
}

static bool grows_before(const struct control_guest *a, const struct control_guest *b)
{
    if (a->aside != b->aside)
        return b->aside;
    if (is_urgent(a) != is_urgent(b))
        return is_urgent(a);
    return a->decision.rho > b->decision.rho;
}

/* A dry run of all guests is one of what they would do together. */
static void put_aside(struct control_guest *guests, size_t n)
{
    bool any = false;

    for (size_t i = 0; i < n; i++)
        any = any || guests[i].acts;
    for (size_t i = 0; i < n; i++)
        guests[i].aside = any && !guests[i].acts;
}

static struct control_guest *next_to_grow(struct control_guest *guests, size_t n)
{
    struct control_guest *best = NULL;

    for (size_t i = 0; i < n; i++)
        if (!guests[i].served &&
            guests[i].wish_bytes > balloon_given(&guests[i].state, &guests[i].input) &&
            (!best || grows_before(&guests[i], best)))
            best = &guests[i];
    return best;
}

static struct control_guest *next_to_give(struct control_guest *guests, size_t n)
{
    struct control_guest *best = NULL;

    for (size_t i = 0; i < n; i++)
        if (!guests[i].served && guests[i].wish_bytes < decide_actual(&guests[i].input) &&
            (!best || control_gives_before(&guests[i], best)))
            best = &guests[i];
    return best;
}

/* --- growth ----------------------------------------------------------------------------------- */

struct budgets {
    uint64_t firm, loose; /* free above hard, and free above the minimum of an ample host */
    uint64_t waiting;     /* growth that did not fit */
    uint64_t pressing;    /* part of it that would reach a guest */
    uint64_t urgent;      /* for panics, beyond firm: free, and promised to guests that may not
                           * touch it, but low stays free if they do */
};

/* The need that the host has measured itself, or that the owner has reserved. */
static uint64_t proven(const struct control_guest *guest)
{
    const struct decide_input *input = &guest->input;

    if (guest->decision.panics & PANIC_WSS)
        return decide_most(input);
    return smaller(larger(guest->decision.demand_bytes, input->reserved_bytes),
                   input->assigned_bytes);
}

/* With all of its reserve at once the host is below hard twice as long. */
#define URGENT_PART 4

static void grow_guest(struct control_guest *guest, struct budgets *budgets)
{
    uint64_t given = balloon_given(&guest->state, &guest->input);
    uint64_t firm_most = larger(given, larger(proven(guest), guest->share_bytes));
    uint64_t firm = smaller(guest->wish_bytes, firm_most) - given;
    uint64_t gap = guest->wish_bytes - given;
    uint64_t urgent = guest->decision.panics
                          ? smaller(budgets->urgent, guest->decision.reserve_bytes / URGENT_PART)
                          : 0;
    uint64_t granted = smaller(firm, larger(budgets->firm, urgent));

    guest->served = true;
    granted += smaller(gap - firm, less(budgets->loose, granted));
    if (granted < gap) {
        granted -= granted % DECIDE_MIB;
        guest->hold = granted >= firm - firm % DECIDE_MIB && gap > firm ? HOLD_SHARE : HOLD_ROOM;
    }

    uint64_t waits = guest->aside ? 0 : less(firm - firm % DECIDE_MIB, granted);

    budgets->waiting += waits;
    if (guest->state.trouble != TROUBLE_NO_DRIVER && !(guest->input.vetoes & VETO_PAUSED))
        budgets->pressing += waits;
    if (!guest->aside) {
        budgets->urgent = less(budgets->urgent, granted);
        budgets->firm = less(budgets->firm, granted);
        budgets->loose = less(budgets->loose, granted);
    }
    if (granted == 0)
        return;
    guest->target_bytes = given + granted;
    guest->action = growth_action(guest);
    if (granted == gap && guest->hold != HOLD_INHIBITED)
        guest->hold = HOLD_NONE;
}

/* --- shrinking -------------------------------------------------------------------------------- */

/* Returns the memory that deflating guests will return. */
static uint64_t returning(const struct control_guest *guests, size_t n)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        if (guests[i].state.moving)
            bytes += less(guests[i].state.seen_bytes, guests[i].state.set_bytes);
    return bytes;
}

static uint64_t missing(const struct control_policy *policy, const struct control_host *host,
                        uint64_t waiting, uint64_t returning_bytes, uint64_t pending_bytes)
{
    /* Memory that was given and is not touched yet is still free, but not for long. */
    uint64_t wanted = host->room_bytes > 0 ? host->room_bytes + pending_bytes : 0;

    if (policy->proactive)
        return UINT64_MAX;
    if (host->level > LEVEL_AMPLE)
        wanted = larger(wanted, host->levels.threshold_bytes[LEVEL_AMPLE]);
    return less(less(wanted, host->free_bytes) + waiting, returning_bytes);
}

/* Returns the amount still missing. */
static uint64_t give(const struct control_policy *policy, struct control_host *host,
                     struct control_guest *guests, size_t n)
{
    const enum control_hold hold = host->missing_bytes == 0 && host->level == LEVEL_AMPLE
                                       ? HOLD_AMPLE
                                       : HOLD_OTHERS;
    uint64_t wanted = host->missing_bytes;
    struct control_guest *guest;

    while ((guest = next_to_give(guests, n)) != NULL) {
        guest->served = true;
        guest->hold = hold;
        if (wanted == 0)
            continue;
        guest->hold = HOLD_NONE;
        guest->action = CONTROL_SHRINK;
        guest->target_bytes = larger(
            guest->wish_bytes,
            less(decide_actual(&guest->input),
                 larger(wanted, decide_step_most(&policy->decide, &guest->input))));
        if (wanted != UINT64_MAX)
            wanted = less(wanted, decide_actual(&guest->input) - guest->target_bytes);
    }
    return wanted;
}

/* --- actuators -------------------------------------------------------------------------------- */

/* The total is as large as the blocks of the actuators allow. */
static void split_target(struct control_guest *guest)
{
    uint64_t wanted;

    memset(guest->set_bytes, 0, sizeof(guest->set_bytes));
    if (!control_is_split(guest))
        return;
    wanted = actuators_split(guest->limits, N_ACTUATORS, guest->target_bytes, guest->set_bytes);
    if (guest->action == CONTROL_NONE || guest->action == CONTROL_RECLAIM)
        return;
    guest->target_bytes = wanted;
    if (guest->action != CONTROL_SHRINK || wanted < decide_actual(&guest->input))
        return;
    guest->action = CONTROL_NONE;
    guest->hold = HOLD_BLOCK;
}

uint64_t control_goal(const struct control_guest *guest)
{
    const struct decide_decision *decision = &guest->decision;
    bool lower = decide_is_lower(&guest->input, decision);

    if (guest->target_bytes > decide_actual(&guest->input)) /* a growth is not finished */
        return larger(guest->target_bytes, lower ? 0 : decision->target_bytes);
    return lower ? decision->wanted_bytes : decision->target_bytes;
}

/* --- together --------------------------------------------------------------------------------- */

void control_run(const struct control_policy *policy, struct control_host *host,
                 struct control_guest *guests, size_t n)
{
    const struct levels_pool shared = {host->total_bytes, host->free_bytes};
    struct control_guest *guest;
    struct budgets budgets = {0};

    host->levels = levels_within(&policy->levels, &shared, &host->around, host->growth_bytes);
    host->level = levels_next(&policy->levels, &host->levels, host->level, host->free_bytes);

    const bool waits = host->waiting_bytes > 0;

    put_aside(guests, n);
    for (size_t i = 0; i < n; i++) {
        guests[i].input.host_short = host->level >= LEVEL_SOFT || waits;
        guests[i].input.host_urgent = host->level >= LEVEL_HARD || waits;
        decide_one(policy, &guests[i], host->now_s);
    }
    share_out(host, guests, n);
    budgets.firm = budget_above(host, LEVEL_HARD, pending(guests, n));
    /* Neither below high nor from the requested room: otherwise the memory that donors give until
     * the level is left would be claimed again. */
    if (host->level == LEVEL_AMPLE)
        budgets.loose = less(budget_above(host, LEVEL_AMPLE, pending(guests, n)),
                             less(host->room_bytes, host->levels.threshold_bytes[LEVEL_AMPLE]));
    budgets.urgent = smaller(budget_above(host, LEVEL_HARD, 0),
                             budget_above(host, LEVEL_LOW, pending(guests, n)));
    host->budget_bytes = budgets.firm;
    while ((guest = next_to_grow(guests, n)) != NULL)
        grow_guest(guest, &budgets);
    giving_back(policy, host, guests, n, budgets.loose);
    host->waiting_bytes = budgets.pressing;
    host->missing_bytes = missing(policy, host, budgets.waiting, returning(guests, n),
                                  pending(guests, n));
    reclaim_missing(policy, guests, n, give(policy, host, guests, n), host->now_s);
    for (size_t i = 0; i < n; i++)
        split_target(&guests[i]);
}

void control_watch(const struct control_policy *policy, struct control_guest *guests, size_t n,
                   double now_s)
{
    for (size_t i = 0; i < n; i++)
        if (guests[i].state.moving && guests[i].input.actual_bytes != guests[i].state.seen_bytes)
            balloon_observe(&guests[i].state, &policy->balloon, &guests[i].input, now_s);
}

/* Never less than it has: processes that use the memory by now would be killed, and no controller
 * runs any more. */
static uint64_t left_with(const struct control_guest *guest, enum control_restore restore)
{
    const struct decide_input *input = &guest->input;
    uint64_t given = balloon_given(&guest->state, input);
    uint64_t wanted = restore == RESTORE_MAX ? input->assigned_bytes : guest->state.before_bytes;

    return restore == RESTORE_HOLD ? given : larger(smaller(wanted, input->assigned_bytes), given);
}

void control_restore(const struct control_host *host, enum control_restore restore,
                     struct control_guest *guests, size_t n)
{
    uint64_t budget = budget_above(host, LEVEL_HARD, pending(guests, n));

    for (size_t i = 0; i < n; i++) /* no later decision will see whether B follows M */
        balloon_shift(&guests[i].state, guests[i].input.assigned_bytes);
    for (size_t i = 0; i < n; i++) {
        struct control_guest *guest = &guests[i];
        uint64_t given = balloon_given(&guest->state, &guest->input);
        enum control_hold obstacle = find_obstacle(guest, host->now_s);
        bool ours = obstacle == HOLD_NONE && guest->state.before_bytes > 0;
        uint64_t wanted = ours ? left_with(guest, restore) : given;
        uint64_t granted = smaller(less(wanted, given), budget);

        guest->action = CONTROL_NONE;
        guest->reclaim_bytes = 0;
        guest->reclaim_hold = RECLAIM_BALLOON;
        guest->hold = obstacle; /* not the hold of the last decision */
        guest->target_bytes = decide_actual(&guest->input);
        split_target(guest);
        if (!ours || (wanted == guest->target_bytes && !guest->state.moving))
            continue;
        guest->hold = granted < less(wanted, given) ? HOLD_ROOM : HOLD_NONE;
        guest->action = restore == RESTORE_HOLD ? CONTROL_SETTLE : CONTROL_RESTORE;
        guest->target_bytes = wanted > given ? given + granted : wanted;
        split_target(guest);
        budget -= granted;
    }
}
