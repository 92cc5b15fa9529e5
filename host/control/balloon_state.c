// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file balloon_state.c  See balloon_state.h. */
#include "control/balloon_state.h"

#include "base/bytes.h"

const struct balloon_policy balloon_policy_default = {
    .progress_s = 5,
    .stalls_max = 3,
    .return_s = 30,
    .return_bytes = 64 * DECIDE_MIB,
    .foreign_s = 3600,
    .still_bytes = DECIDE_MIB,
};

static void leave_to_another(struct balloon_state *state, const struct balloon_policy *policy,
                             double now_s)
{
    state->moving = state->stalled = state->proving = false;
    state->before_bytes = 0;
    state->pending_bytes = 0;
    if (balloon_is_inhibited(state))
        return;
    state->trouble = TROUBLE_FOREIGN;
    state->trouble_until_s = now_s + policy->foreign_s;
}

static void arrive(struct balloon_state *state, double now_s)
{
    state->moving = false;
    state->n_stalls = 0;
    state->proving = state->set_bytes < state->from_bytes;
    state->settled_at_s = now_s;
}

static void stall(struct balloon_state *state, const struct balloon_policy *policy, uint64_t actual)
{
    bool moved = actual > state->from_bytes + policy->still_bytes ||
                 actual + policy->still_bytes < state->from_bytes;

    state->moving = false;
    state->stalled = true;
    state->n_stalls = moved ? 0 : state->n_stalls + 1;
    if (state->n_stalls >= policy->stalls_max && state->trouble == TROUBLE_NONE)
        state->trouble = TROUBLE_NO_DRIVER;
}

/* How far it has come since it was seen last; less than 0: the other way. */
static int64_t came(const struct balloon_state *state, uint64_t actual)
{
    return state->set_bytes < state->from_bytes ? (int64_t)(state->seen_bytes - actual)
                                                : (int64_t)(actual - state->seen_bytes);
}

static bool is_there(const struct balloon_state *state, const struct balloon_policy *policy,
                     uint64_t actual)
{
    return state->set_bytes < state->from_bytes ? actual < state->set_bytes + policy->still_bytes
                                                : actual + policy->still_bytes > state->set_bytes;
}

static void follow_move(struct balloon_state *state, const struct balloon_policy *policy,
                        uint64_t actual, double now_s)
{
    int64_t way = came(state, actual);

    if (way < -(int64_t)policy->still_bytes)
        leave_to_another(state, policy, now_s);
    else if (is_there(state, policy, actual))
        arrive(state, now_s);
    else if (way > 0)
        state->progress_at_s = now_s;
    else if (now_s - state->progress_at_s >= policy->progress_s)
        stall(state, policy, actual);
}

/* The record must be one of after the wait. */
static void prove(struct balloon_state *state, const struct balloon_policy *policy,
                  const struct decide_input *input, double now_s)
{
    if (now_s - input->age_s < state->settled_at_s + policy->return_s)
        return;
    state->proving = false;
    if (input->resident_bytes > state->set_bytes + policy->return_bytes)
        state->trouble = TROUBLE_NO_RETURN;
}

void balloon_observe(struct balloon_state *state, const struct balloon_policy *policy,
                     const struct decide_input *input, double now_s)
{
    uint64_t actual = decide_actual(input);

    if (input->actual_bytes == DECIDE_UNKNOWN)
        return;
    if (state->trouble == TROUBLE_FOREIGN && now_s >= state->trouble_until_s)
        state->trouble = TROUBLE_NONE;
    if (state->moving)
        follow_move(state, policy, actual, now_s);
    else if (state->seen_bytes > 0 && !state->quiet &&
             larger(actual, state->seen_bytes) - smaller(actual, state->seen_bytes) >
                 policy->still_bytes)
        leave_to_another(state, policy, now_s);
    if (state->quiet && now_s - state->settled_at_s >= policy->return_s)
        state->quiet = false;
    if (state->proving)
        prove(state, policy, input, now_s);
    state->pending_bytes = smaller(
        state->pending_bytes,
        less(state->moving ? larger(state->set_bytes, actual) : actual, input->resident_bytes));
    state->seen_bytes = actual;
}

uint64_t balloon_given(const struct balloon_state *state, const struct decide_input *input)
{
    uint64_t actual = decide_actual(input);

    return state->moving ? larger(actual, state->set_bytes) : actual;
}

void balloon_issued(struct balloon_state *state, const struct decide_input *input,
                    uint64_t target_bytes, double now_s)
{
    uint64_t actual = decide_actual(input);

    if (state->before_bytes == 0)
        state->before_bytes = actual;
    state->pending_bytes += less(target_bytes, balloon_given(state, input));
    state->from_bytes = actual;
    state->seen_bytes = actual;
    state->set_bytes = target_bytes;
    state->stalled = state->proving = false;
    state->moving = target_bytes != actual;
    state->progress_at_s = now_s;
    state->quiet = !state->moving;
    if (state->quiet)
        state->settled_at_s = now_s;
}
