// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/advice/step.h"

#include "base/bytes.h"

#include <math.h>

void decide_remember(const struct decide_pace *pace, double now_s, struct decide_input *input)
{
    input->panic_bytes = pace->panic_bytes;
    input->panic_age_s = now_s - pace->panic_at_s;
    input->guest.unhelped = pace->pressure.unhelped;
}

static void panic(struct decide_pace *pace, const struct decide_policy *policy,
                  const struct decide_input *input, unsigned panics, double now_s)
{
    uint64_t actual = decide_actual(input);

    if (!pace->panicking) {
        bool again = pace->pause_s > 0 && now_s <= pace->paused_until_s + policy->panic_pause_max_s;

        if (pace->pause_s <= 0 || now_s - pace->panicked_s >= policy->panic_calm_s)
            pace->pause_s = again ? fmin(2 * pace->pause_s, policy->panic_pause_max_s)
                                  : policy->panic_pause_s;
        if (actual < decide_most(input)) {
            pace->panic_bytes = (uint64_t)((double)actual * policy->learned_factor);
            pace->panic_at_s = now_s;
            pace->needs_known = pace->killed = false;
        }
    }
    pace->killed = pace->killed || (panics & PANIC_OOM_KILL);
    pace->panicking = true;
    pace->panicked_s = now_s;
    pace->paused_until_s = now_s + pace->pause_s;
}

/* Returns what the guest needs now, with its reserve; 0: not known. */
static uint64_t needed(const struct decide_input *input, const struct decide_decision *decision)
{
    uint64_t uses = decision->floor_kind == FLOOR_HALF || input->unsettled ? 0
                                                                           : decision->floor_bytes;

    return larger(uses, decision->measured ? decision->demand_short_bytes : 0);
}

/* The largest need until nothing has been short for the pause is what the panic needed: before it
 * was given memory the guest could not show that, least of all once its OOM killer has run. */
static void learn(struct decide_pace *pace, const struct decide_input *input,
                  const struct decide_decision *decision, double now_s)
{
    uint64_t bytes = needed(input, decision);

    if (pace->panicking || now_s >= pace->paused_until_s || bytes == 0)
        return;
    if (pace->killed && decide_actual(input) < smaller(pace->panic_bytes, decide_most(input)))
        return;
    pace->panic_bytes = pace->needs_known ? larger(pace->panic_bytes, bytes) : bytes;
    pace->needs_known = true;
}

/* Share of the pressure above which growth has not helped. */
#define UNHELPED_SHARE 0.75

/* Returns how much the guest waits for memory; 1 is the beginning of a panic. Unknown figures count
 * as 0. */
static double severity(const struct decide_policy *policy, const struct decide_guest *guest)
{
    return fmax(fmax(fmax(guest->psi_some / policy->psi_some_panic, 0),
                     guest->psi_full / policy->psi_full_panic),
                guest->stalls_s / policy->stalls_panic);
}

static void note_pressure(struct decide_pace *pace, const struct decide_policy *policy,
                          const struct decide_input *input, uint64_t band_bytes)
{
    const struct decide_guest *guest = &input->guest;
    const double times = severity(policy, guest);
    uint64_t actual = decide_actual(input);

    if (!guest->reported)
        return;
    if (times < 1) {
        pace->pressure.bytes = 0;
        pace->pressure.unhelped = false;
        return;
    }
    if (pace->pressure.bytes == 0 || actual < pace->pressure.bytes) {
        pace->pressure.bytes = actual;
        pace->pressure.times = times;
    }
    if (!input->unsettled && actual > pace->pressure.bytes + band_bytes &&
        times >= UNHELPED_SHARE * pace->pressure.times)
        pace->pressure.unhelped = true;
}

/* 256 MiB of 64 GiB */
#define STEP_PARTS 256

uint64_t decide_step_most(const struct decide_policy *policy, const struct decide_input *input)
{
    return larger(policy->down_max_bytes, input->assigned_bytes / STEP_PARTS);
}

static uint64_t step_bytes(const struct decide_policy *policy, const struct decide_input *input)
{
    uint64_t actual = decide_actual(input);
    uint64_t most = input->host_urgent ? actual : decide_step_most(policy, input);
    uint64_t step = smaller((uint64_t)((double)actual * policy->down_share), most);

    if (input->guest.reported && input->guest.available_bytes != DECIDE_UNKNOWN)
        step = smaller(step, input->guest.available_bytes / 2);
    return step;
}

bool decide_is_asked_early(const struct decide_pace *pace, const struct decide_policy *policy,
                           const struct decide_input *input, double now_s)
{
    return input->host_urgent && now_s - pace->known_since_s >= policy->down_after_s;
}

static void note_lower(struct decide_pace *pace, const struct decide_policy *policy, bool vetoed,
                       double now_s)
{
    if (!pace->lower)
        pace->lower_since_s = now_s;
    pace->lower = true;
    if (pace->n_lower == 0 && vetoed)
        return;
    if (pace->n_lower == 0)
        pace->agreed_since_s = now_s;
    if (pace->n_lower < policy->down_decisions)
        pace->n_lower++;
}

/* Returns true if the target has been lower for long enough. */
static bool settled(const struct decide_pace *pace, const struct decide_policy *policy,
                    const struct decide_input *input, double now_s)
{
    bool grew = pace->turned && now_s < pace->turned_at_s + policy->turn_pause_s;
    bool waited = now_s - pace->lower_since_s >= policy->down_after_s ||
                  (decide_is_asked_early(pace, policy, input, now_s) &&
                   now_s - pace->agreed_since_s >= policy->down_urgent_s);

    return pace->n_lower >= policy->down_decisions && waited && now_s >= pace->paused_until_s &&
           (!grew || input->host_short);
}

bool decide_is_lower(const struct decide_input *input, const struct decide_decision *decision)
{
    return decision->action == ACTION_SHRINK ||
           (decision->vetoes == VETO_UNSETTLED &&
            less(decide_actual(input), decision->wanted_bytes) > decision->band_bytes);
}

/* Each growth is a turn if something is taken after it; after a panic the panic's own pause
 * applies. */
static void note_growth(struct decide_pace *pace, const struct decide_decision *decision,
                        double now_s)
{
    if (decision->action != ACTION_GROW || decision->panics)
        return;
    pace->turned = true;
    pace->turned_at_s = now_s;
}

uint64_t decide_step(struct decide_pace *pace, const struct decide_policy *policy,
                     const struct decide_input *input, const struct decide_decision *decision,
                     double now_s)
{
    uint64_t actual = decide_actual(input);

    if (pace->known_since_s == 0)
        pace->known_since_s = now_s;
    if (decision->panics)
        panic(pace, policy, input, decision->panics, now_s);
    else
        pace->panicking = false;
    learn(pace, input, decision, now_s);
    note_pressure(pace, policy, input, decision->band_bytes);
    note_growth(pace, decision, now_s);
    if (!decide_is_lower(input, decision)) {
        pace->n_lower = 0;
        pace->lower = false;
        return decision->target_bytes;
    }
    note_lower(pace, policy, decision->vetoes != 0, now_s);
    if (!settled(pace, policy, input, now_s) || decision->vetoes)
        return actual;

    uint64_t step = step_bytes(policy, input);

    return actual - decision->target_bytes > step ? actual - step : decision->target_bytes;
}
