// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file actuator_reclaim.c  memory.reclaim of the guest's control group: see reclaim.h and
 * actuators.h. */
#include "base/bytes.h"
#include "decide/control/control_words.h"

#include <math.h>
#include <stdio.h>

const struct reclaim_policy reclaim_policy_default = {
    .step_share = 0.05,
    .step_max_bytes = 256 * DECIDE_MIB,
    .swap_share = 0.25,
    .window_s = 60,
    .refault_share = 0.002,
    .refault_min_bytes = DECIDE_MIB,
    .psi_some = 0.001,
    .stale_s = 60,
    .little_max = 3,
    .pause_s = 600,
    .pause_max_s = 3600,
};

/* A pause within an hour of the end of the last one is longer; a pause within the last one does not
 * extend its length. */
static void pause_for_a_while(struct reclaim_state *state, const struct reclaim_policy *policy,
                              enum reclaim_pause why, double now_s)
{
    state->pause = why;
    if (state->pause_s <= 0 || now_s >= state->paused_until_s) {
        bool again = state->pause_s > 0 && now_s < state->paused_until_s + policy->pause_max_s;

        state->pause_s = again ? fmin(2 * state->pause_s, policy->pause_max_s) : policy->pause_s;
    }
    state->paused_until_s = fmax(state->paused_until_s, now_s + state->pause_s);
    state->n_lower = 0;
}

static void count_from(struct reclaim_state *state, const struct reclaim_group *group)
{
    state->taken_from_s = group->seen_s;
    state->refaults_from_bytes = group->refault_bytes;
    state->pressure_from_s = group->pressure_s;
}

void reclaim_pause_until(struct reclaim_state *state, double until_s)
{
    if (until_s <= state->paused_until_s)
        return;
    state->paused_until_s = until_s;
    state->pause = RECLAIM_PAUSE_PANIC;
}

/* Compares with the lower bound, as a guest's own refaults are. The minimum applies to a whole
 * window, so that a single page in the first second of a window is ignored. */
static bool is_much(const struct reclaim_policy *policy, const struct decide_input *input,
                    uint64_t refault_bytes)
{
    double share = policy->refault_share * (double)input->mid_wss.low_bytes * policy->window_s / 60;

    return (double)refault_bytes > fmax(share, (double)policy->refault_min_bytes);
}

/* Pauses, and returns true, if too much came back, or the group waited for memory, since the count
 * began. */
static bool regrets(struct control_guest *guest, const struct reclaim_policy *policy, double now_s)
{
    struct reclaim_state *state = &guest->reclaim;
    uint64_t refault_bytes = guest->group.refault_bytes - state->refaults_from_bytes;
    double waited_s = guest->group.pressure_s - state->pressure_from_s; /* NAN: not known */
    bool refaults = is_much(policy, &guest->input, refault_bytes);

    if (!refaults && !(waited_s > policy->psi_some * policy->window_s))
        return false;
    state->refault_bytes = refault_bytes;
    state->waited_s = waited_s;
    pause_for_a_while(state, policy, refaults ? RECLAIM_PAUSE_REFAULTS : RECLAIM_PAUSE_PRESSURE,
                      now_s);
    return true;
}

static void observe(struct control_guest *guest, const struct reclaim_policy *policy, double now_s)
{
    struct reclaim_state *state = &guest->reclaim;
    const struct reclaim_group *group = &guest->group;
    bool is_another;

    if (group->seen_s <= 0 || group->refused[0])
        return;
    is_another = group->refault_bytes < state->refaults_from_bytes ||
                 group->pressure_s < state->pressure_from_s;
    if (state->taken_from_s <= 0 || is_another || regrets(guest, policy, now_s) ||
        group->seen_s >= state->taken_from_s + policy->window_s)
        count_from(state, group);
}

uint64_t reclaim_keep(const struct decide_input *input, const struct decide_decision *decision)
{
    uint64_t needed = larger(larger(decision->demand_bytes, decision->memory.learned_bytes),
                             input->reserved_bytes);

    if (!decision->measured || less(input->assigned_bytes, decision->reserve_bytes) < needed)
        return input->assigned_bytes;
    return needed + decision->reserve_bytes;
}

/* Neither missing statistics nor an unknown past are a veto: the host itself sees when it takes too
 * much, and what it took comes back when it is touched. */
static bool is_vetoed(const struct decide_decision *decision)
{
    const unsigned vetoes = decision->vetoes & ~(unsigned)(VETO_STATISTICS | VETO_DAY | VETO_PAST);

    return vetoes || decision->panics || decision->claims;
}

/* Returns how much one decision may reclaim given the room in swap. The room of a group without a
 * limit of its own is the host's: then all guests share it. */
static uint64_t reclaim_room(const struct reclaim_policy *policy, const struct reclaim_group *group)
{
    return (uint64_t)((double)group->swap_room_bytes * policy->swap_share);
}

static uint64_t step_of(const struct reclaim_policy *policy, const struct control_guest *guest,
                        uint64_t cold_bytes)
{
    uint64_t share = (uint64_t)((double)guest->input.resident_bytes * policy->step_share);
    uint64_t most = smaller(policy->step_max_bytes, reclaim_room(policy, &guest->group));
    uint64_t bytes = smaller(smaller(cold_bytes, share), most);

    return bytes - bytes % DECIDE_MIB;
}

/* Returns the reason not to reclaim, however much is cold. */
static enum reclaim_hold find_obstacle(const struct reclaim_policy *policy,
                                       const struct control_guest *guest, double now_s)
{
    const struct reclaim_group *group = &guest->group;

    if (group->seen_s <= 0 || now_s > group->seen_s + policy->stale_s)
        return RECLAIM_UNKNOWN;
    if (group->refused[0])
        return RECLAIM_REFUSED;
    if (!guest->decision.measured || is_vetoed(&guest->decision))
        return RECLAIM_VETO;
    return now_s < guest->reclaim.paused_until_s ? RECLAIM_PAUSE : RECLAIM_NONE;
}

static bool has_waited(struct reclaim_state *state, const struct decide_policy *decide,
                       double now_s)
{
    if (state->n_lower++ == 0)
        state->lower_since_s = now_s;
    return state->n_lower >= decide->down_decisions &&
           now_s - state->lower_since_s >= decide->down_after_s;
}

/* Returns true if no record was begun since the last step. */
static bool is_settling(const struct control_guest *guest, double now_s)
{
    const struct decide_input *input = &guest->input;

    return guest->reclaim.asked_at_s > 0 &&
           now_s - fmax(input->age_s, 0) < guest->reclaim.asked_at_s + input->short_wss.window_s;
}

static void take_step(struct control_guest *guest, const struct control_policy *policy,
                      double now_s)
{
    struct reclaim_state *state = &guest->reclaim;
    uint64_t cold = less(guest->input.resident_bytes,
                         reclaim_keep(&guest->input, &guest->decision));
    uint64_t bytes = step_of(&policy->reclaim, guest, cold);
    enum reclaim_hold hold = find_obstacle(&policy->reclaim, guest, now_s);

    if (hold == RECLAIM_NONE && cold < larger(guest->decision.band_bytes, DECIDE_MIB))
        hold = RECLAIM_ENOUGH;
    else if (hold == RECLAIM_NONE && bytes == 0)
        hold = RECLAIM_SWAP;
    if (hold != RECLAIM_NONE)
        state->n_lower = 0;
    else if (!has_waited(state, &policy->decide, now_s))
        hold = RECLAIM_WAITING;
    else if (is_settling(guest, now_s))
        hold = RECLAIM_SETTLING;
    guest->reclaim_hold = hold;
    guest->reclaim_bytes = hold == RECLAIM_NONE ? bytes : 0;
}

void reclaim_asked(struct reclaim_state *state, double now_s)
{
    state->asked_at_s = now_s;
}

void reclaim_answered(struct reclaim_state *state, const struct reclaim_policy *policy,
                      uint64_t asked_bytes, uint64_t got_bytes, double now_s)
{
    state->n_little = got_bytes < asked_bytes / 2 ? state->n_little + 1 : 0;
    if (state->n_little < policy->little_max)
        return;
    state->n_little = 0;
    pause_for_a_while(state, policy, RECLAIM_PAUSE_LITTLE, now_s);
}

/* --- the actuator ----------------------------------------------------------------------------- */

/* Returns true if its balloon has nothing to give, or does not work. A moving balloon is a veto. */
static bool may_be_reclaimed(const struct control_guest *guest)
{
    return guest->action == CONTROL_NONE &&
           (guest->hold == HOLD_DECISION || guest->hold == HOLD_INHIBITED);
}

static void offer(struct control_guest *guest, const struct control_policy *policy, double now_s)
{
    struct reclaim_state *state = &guest->reclaim;

    guest->reclaim_bytes = 0;
    guest->reclaim_hold = policy->reclaim.on ? RECLAIM_BALLOON : RECLAIM_OFF;
    if (!policy->reclaim.on)
        return;
    observe(guest, &policy->reclaim, now_s);
    reclaim_pause_until(state, guest->state.pace.paused_until_s);
    if (!may_be_reclaimed(guest))
        state->n_lower = 0;
    else
        take_step(guest, policy, now_s);
    if (guest->reclaim_bytes > 0 && guest->busy) {
        guest->reclaim_bytes = 0;
        guest->reclaim_hold = RECLAIM_BUSY;
    }
}

static int order(const struct actuator_hands *hands, const struct control_guest *guest,
                 struct error *error)
{
    return guest->action == CONTROL_RECLAIM ? hands->reclaim(hands->context, error) : 0;
}

/* --- words ------------------------------------------------------------------------------------ */

static void write_reclaim_pause(char *text, size_t size, const struct control_host *host,
                                const struct reclaim_state *state)
{
    int n = snprintf(text, size,
                     "nothing is reclaimed for %.0f s: ", state->paused_until_s - host->now_s);

    text += n;
    size -= (size_t)n;
    switch (state->pause) {
    case RECLAIM_PAUSE_PANIC:
        snprintf(text, size, "it was short of memory");
        return;
    case RECLAIM_PAUSE_REFAULTS:
        snprintf(text, size, "%.1f MiB of what was taken came back",
                 control_mib(state->refault_bytes));
        return;
    case RECLAIM_PAUSE_PRESSURE:
        snprintf(text, size, "its control group waited %.2f s for memory", state->waited_s);
        return;
    case RECLAIM_PAUSE_LITTLE:
        snprintf(text, size, "the kernel found little, three times in a row");
        return;
    }
}

static void explain(char *text, size_t size, const struct control_policy *policy,
                    const struct control_host *host, const struct control_guest *guest)
{
    const struct reclaim_state *state = &guest->reclaim;
    double resident = control_mib(guest->input.resident_bytes);
    double keep = control_mib(reclaim_keep(&guest->input, &guest->decision));

    switch (guest->reclaim_hold) {
    case RECLAIM_NONE:
        snprintf(text, size,
                 "memory.reclaim of %.0f MiB: %.0f are resident, %.0f are kept, and %.0f fit into "
                 "swap",
                 control_mib(guest->reclaim_bytes), resident, keep,
                 control_mib(guest->group.swap_room_bytes));
        return;
    case RECLAIM_UNKNOWN:
        snprintf(text, size, "its control group has not been read");
        return;
    case RECLAIM_REFUSED:
        snprintf(text, size, "nothing is reclaimed: %s", guest->group.refused);
        return;
    case RECLAIM_PAUSE:
        return write_reclaim_pause(text, size, host, state);
    case RECLAIM_SWAP:
        snprintf(text, size, "nothing is reclaimed: %.0f MiB fit into swap%s",
                 control_mib(guest->group.swap_room_bytes),
                 reclaim_room(&policy->reclaim, &guest->group) >= DECIDE_MIB
                     ? ", and other guests take what that allows"
                     : "");
        return;
    case RECLAIM_SETTLING:
        snprintf(text, size, "the next reclaim waits for a record that began after the last one");
        return;
    case RECLAIM_WAITING:
        snprintf(text, size, "reclaim: %.0f of %.0f MiB are kept, for %.0f s of %.0f so far", keep,
                 resident, host->now_s - state->lower_since_s, policy->decide.down_after_s);
        return;
    case RECLAIM_ENOUGH:
        snprintf(text, size, "reclaim: of %.0f MiB resident it keeps %.0f", resident, keep);
        return;
    case RECLAIM_BUSY:
        snprintf(text, size,
                 "nothing is reclaimed: a job runs on the domain, or the last reclaim goes on");
        return;
    case RECLAIM_OTHERS:
        snprintf(text, size, "nothing is reclaimed: the host misses nothing");
        return;
    case RECLAIM_OFF:
    case RECLAIM_BALLOON:
    case RECLAIM_VETO:
        text[0] = 0;
    }
}

static uint64_t ordered(const struct control_guest *guest)
{
    return guest->action == CONTROL_RECLAIM ? guest->reclaim_bytes : DECIDE_UNKNOWN;
}

const struct actuator_operations actuator_reclaim = {
    .name = "reclaim",
    .offer = offer,
    .order = order,
    .explain = explain,
    .ordered = ordered,
    .ordered_column = {"reclaim_bytes", "to be reclaimed", "vmwss_balloon_reclaim_bytes",
                       ACTUATOR_DECIDED
                       "what memory.reclaim of the guest's control group was asked for; in a dry "
                       "run what it would be."},
    .done_column = {"reclaimed_bytes", "reclaimed", "vmwss_balloon_reclaimed_bytes",
                    ACTUATOR_DECIDED "what memory.reclaim found of that."},
};

/* --- of all guests ---------------------------------------------------------------------------- */

static struct control_guest *next_to_be_reclaimed(struct control_guest *guests, size_t n)
{
    struct control_guest *best = NULL;

    for (size_t i = 0; i < n; i++)
        if (guests[i].action == CONTROL_NONE && guests[i].reclaim_bytes > 0 &&
            (!best || control_gives_before(&guests[i], best)))
            best = &guests[i];
    return best;
}

/* Returns the limit for all guests together: the host's room in swap, which a group's own limit may
 * hide. */
static uint64_t room_in_swap(const struct reclaim_policy *policy,
                             const struct control_guest *guests, size_t n)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        if (guests[i].reclaim_bytes > 0)
            bytes = larger(bytes, reclaim_room(policy, &guests[i].group));
    return bytes;
}

static void order_reclaim(struct control_guest *guest, uint64_t most_bytes)
{
    uint64_t bytes = smaller(guest->reclaim_bytes, most_bytes);

    guest->reclaim_bytes = bytes - bytes % DECIDE_MIB;
    if (guest->reclaim_bytes > 0)
        guest->action = CONTROL_RECLAIM;
    else
        guest->reclaim_hold = RECLAIM_SWAP;
}

void reclaim_missing(const struct control_policy *policy, struct control_guest *guests, size_t n,
                     uint64_t wanted, double now_s)
{
    struct control_guest *guest;
    uint64_t room;

    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < N_ACTUATORS; a++)
            if (actuators[a]->offer)
                actuators[a]->offer(&guests[i], policy, now_s);
    room = room_in_swap(&policy->reclaim, guests, n);
    while (wanted > 0 && (guest = next_to_be_reclaimed(guests, n)) != NULL) {
        if (wanted != UINT64_MAX)
            guest->reclaim_bytes = control_whole_mib(wanted, guest->reclaim_bytes);
        order_reclaim(guest, room);
        room -= guest->reclaim_bytes;
        if (wanted != UINT64_MAX)
            wanted = less(wanted, guest->reclaim_bytes);
    }
    while ((guest = next_to_be_reclaimed(guests, n)) != NULL) {
        guest->reclaim_bytes = 0;
        guest->reclaim_hold = RECLAIM_OTHERS;
    }
}
