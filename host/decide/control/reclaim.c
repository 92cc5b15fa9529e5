// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reclaim.c  See reclaim.h. */
#include "decide/control/reclaim.h"

#include "base/bytes.h"

#include <math.h>

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
static bool regrets(struct reclaim_state *state, const struct reclaim_policy *policy,
                    const struct reclaim_group *group, const struct decide_input *input,
                    double now_s)
{
    uint64_t refault_bytes = group->refault_bytes - state->refaults_from_bytes;
    double waited_s = group->pressure_s - state->pressure_from_s; /* NAN: not known */
    bool refaults = is_much(policy, input, refault_bytes);

    if (!refaults && !(waited_s > policy->psi_some * policy->window_s))
        return false;
    state->refault_bytes = refault_bytes;
    state->waited_s = waited_s;
    pause_for_a_while(state, policy, refaults ? RECLAIM_PAUSE_REFAULTS : RECLAIM_PAUSE_PRESSURE,
                      now_s);
    return true;
}

void reclaim_observe(struct reclaim_state *state, const struct reclaim_policy *policy,
                     const struct reclaim_group *group, const struct decide_input *input,
                     double now_s)
{
    bool is_another;

    if (group->seen_s <= 0 || group->refused[0])
        return;
    is_another = group->refault_bytes < state->refaults_from_bytes ||
                 group->pressure_s < state->pressure_from_s;
    if (state->taken_from_s <= 0 || is_another || regrets(state, policy, group, input, now_s) ||
        group->seen_s >= state->taken_from_s + policy->window_s)
        count_from(state, group);
}

uint64_t reclaim_keep(const struct decide_input *input, const struct decide_decision *decision)
{
    uint64_t needed = larger(larger(decision->demand_bytes, decision->learned_bytes),
                             input->reserved_bytes);

    if (!decision->measured || less(input->assigned_bytes, decision->reserve_bytes) < needed)
        return input->assigned_bytes;
    return needed + decision->reserve_bytes;
}

/* Missing statistics are no veto: the host itself sees when it takes too much. */
static bool is_vetoed(const struct decide_decision *decision)
{
    return (decision->vetoes & ~(unsigned)VETO_STATISTICS) || decision->panics || decision->claims;
}

uint64_t reclaim_room(const struct reclaim_policy *policy, const struct reclaim_group *group)
{
    return (uint64_t)((double)group->swap_room_bytes * policy->swap_share);
}

static uint64_t step_of(const struct reclaim_policy *policy, const struct reclaim_group *group,
                        uint64_t cold_bytes, uint64_t resident_bytes)
{
    uint64_t share = (uint64_t)((double)resident_bytes * policy->step_share);
    uint64_t most = smaller(policy->step_max_bytes, reclaim_room(policy, group));
    uint64_t bytes = smaller(smaller(cold_bytes, share), most);

    return bytes - bytes % DECIDE_MIB;
}

/* Returns the reason not to reclaim, however much is cold. */
static enum reclaim_hold find_obstacle(const struct reclaim_state *state,
                                       const struct reclaim_policy *policy,
                                       const struct reclaim_group *group,
                                       const struct decide_decision *decision, double now_s)
{
    if (group->seen_s <= 0 || now_s > group->seen_s + policy->stale_s)
        return RECLAIM_UNKNOWN;
    if (group->refused[0])
        return RECLAIM_REFUSED;
    if (!decision->measured || is_vetoed(decision))
        return RECLAIM_VETO;
    return now_s < state->paused_until_s ? RECLAIM_PAUSE : RECLAIM_NONE;
}

static bool has_waited(struct reclaim_state *state, const struct decide_policy *decide,
                       double now_s)
{
    if (state->n_lower++ == 0)
        state->lower_since_s = now_s;
    return state->n_lower >= decide->down_decisions &&
           now_s - state->lower_since_s >= decide->down_after_s;
}

uint64_t reclaim_step(struct reclaim_state *state, const struct reclaim_policy *policy,
                      const struct decide_policy *decide, const struct reclaim_group *group,
                      const struct decide_input *input, const struct decide_decision *decision,
                      double now_s, enum reclaim_hold *hold)
{
    uint64_t cold = less(input->resident_bytes, reclaim_keep(input, decision));
    uint64_t bytes = step_of(policy, group, cold, input->resident_bytes);

    *hold = policy->on ? find_obstacle(state, policy, group, decision, now_s) : RECLAIM_OFF;
    if (*hold == RECLAIM_NONE && cold < larger(decision->band_bytes, DECIDE_MIB))
        *hold = RECLAIM_ENOUGH;
    else if (*hold == RECLAIM_NONE && bytes == 0)
        *hold = RECLAIM_SWAP;
    if (*hold != RECLAIM_NONE) {
        state->n_lower = 0;
        return 0;
    }
    if (!has_waited(state, decide, now_s))
        *hold = RECLAIM_WAITING;
    else if (state->asked_at_s > 0 &&
             now_s - fmax(input->age_s, 0) < state->asked_at_s + input->short_wss.window_s)
        *hold = RECLAIM_SETTLING;
    return *hold == RECLAIM_NONE ? bytes : 0;
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
