// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file balloon_report.c  What a guest's statistics show of it while its balloon moves: see
 * balloon_state.h. */
#include "decide/control/balloon_state.h"

#include "base/bytes.h"

#include <math.h>

bool balloon_made_after(double age_s, double then_s, double now_s)
{
    return age_s >= -DECIDE_SKEW_S && now_s - fmax(age_s, 0) >= then_s;
}

/* With a driver that works, what is available changes with the balloon, unless the guest takes all
 * there is. */
static void note_report(struct balloon_state *state, const struct balloon_policy *policy,
                        const struct decide_input *input)
{
    const uint64_t available = input->guest.available_bytes, actual = decide_actual(input);

    if (available != state->report.available_bytes || actual > state->report.actual_bytes ||
        available < decide_little(&decide_policy_default, input->assigned_bytes)) {
        state->report.available_bytes = available;
        state->report.actual_bytes = actual;
    }
    state->report.frozen = actual + policy->frozen_bytes <= state->report.actual_bytes;
    if (!state->report.frozen)
        state->report.used_bytes = actual - available;
}

void balloon_date(struct balloon_state *state, const struct balloon_policy *policy,
                  struct decide_input *input, double now_s)
{
    struct decide_guest *guest = &input->guest;
    double age_s = guest->reported ? guest->age_s : input->age_s;

    if (age_s >= -DECIDE_SKEW_S)
        age_s += guest->reported ? guest->late_s : 0;
    if (guest->reported && guest->available_bytes < decide_actual(input) && !state->moving &&
        !balloon_is_plugging(state) && balloon_made_after(age_s, state->rest_since_s, now_s))
        note_report(state, policy, input);
    guest->used_bytes = state->report.used_bytes;
    if (state->report.frozen && guest->available_bytes == state->report.available_bytes)
        guest->available_bytes = DECIDE_UNKNOWN;
    input->unsettled = state->moving || state->proving || balloon_is_plugging(state) ||
                       !balloon_made_after(age_s, state->rest_since_s + policy->return_s, now_s);
}
