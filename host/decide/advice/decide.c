// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file decide.c  See decide.h: the terms, and the target computed from them. */
#include "decide/advice/decide.h"

#include "base/bytes.h"

#include <math.h>

#define DAY_ENOUGH_S (20 * 3600.0)
#define DAY_LITTLE_S 3600.0
#define WIDE_SHARE 0.05

const struct decide_policy decide_policy_default = {
    .short_factor = 1.25,
    .mid_factor = 1.15,
    .long_factor = 1.10,
    .reserve = {.share = 0.05, .min_bytes = 128 * DECIDE_MIB, .scarce = 2, .growth_band = 0.25},
    .learned_factor = 1.2,
    .learned_half_life_s = 86400,
    .band_share = 0.02,
    .band_min_bytes = 64 * DECIDE_MIB,
    .stale_periods = 3,
    .young_s = 600,
    .unmeasurable_share = 0.1,
    .psi_some_veto = 0.001,
    .refault_share_min = 0.002,
    .psi_some_panic = 0.1,
    .psi_full_panic = 0.01,
    .stalls_panic = 1,
    .wss_share_panic = 0.9,
    .trust_min = 0.5,
    .idle_tax = 4,
    .down_decisions = 3,
    .down_after_s = 600,
    .down_urgent_s = 20,
    .down_share = 0.05,
    .down_max_bytes = 256 * DECIDE_MIB,
    .panic_pause_s = 600,
    .panic_pause_max_s = 3600,
    .panic_calm_s = 60,
    .turn_pause_s = 3600,
    .past = {.exceeded_max = 0.001},
};

/* Rounds up, to at most @p most. A factor of 1.1 need not be exact in binary. */
static uint64_t scaled(uint64_t bytes, double factor, uint64_t most)
{
    double value = ceil((double)bytes * factor * (1 - 1e-12));

    return value < (double)most ? (uint64_t)value : most;
}

static uint64_t sum_bounded(uint64_t a, uint64_t b, uint64_t most)
{
    return a > most || b > most - a ? most : a + b;
}

uint64_t decide_actual(const struct decide_input *input)
{
    return smaller(input->actual_bytes, input->assigned_bytes);
}

uint64_t decide_most(const struct decide_input *input)
{
    uint64_t limit = input->limit_bytes > 0 ? smaller(input->limit_bytes, input->assigned_bytes)
                                            : input->assigned_bytes;

    return larger(limit, decide_actual(input));
}

/* --- the terms -------------------------------------------------------------------------------- */

/* The headroom is a share of the working set, but no more than the reserve: that is what a load
 * grows by until it is answered, however large it was. */
static uint64_t demand_of(const struct decide_policy *policy, const struct decide_input *input,
                          const struct decide_wss *wss, double factor)
{
    uint64_t most = input->assigned_bytes;

    if (wss->window_s <= 0 || decide_is_ahead(input))
        return 0;
    return smaller(scaled(wss->high_bytes, factor, most),
                   sum_bounded(wss->high_bytes, decide_reserve(policy, most), most));
}

static uint64_t demand(const struct decide_policy *policy, const struct decide_input *input,
                       struct decide_decision *decision)
{
    uint64_t most = input->assigned_bytes;

    decision->demand_short_bytes = demand_of(policy, input, &input->short_wss,
                                             policy->short_factor);
    decision->demand_mid_bytes = demand_of(policy, input, &input->mid_wss, policy->mid_factor);
    decision->demand_long_bytes = demand_of(policy, input, &input->long_wss, policy->long_factor);
    decision->demand_day_bytes = input->day_s > 0 ? smaller(input->day_bytes, most) : 0;
    return larger(larger(decision->demand_short_bytes, decision->demand_mid_bytes),
                  larger(decision->demand_long_bytes, decision->demand_day_bytes));
}

/* A guest of 12 TiB that has 300 GiB available is not short. */
#define RESERVE_LARGE_BYTES (65536 * DECIDE_MIB)
#define RESERVE_LARGE_PART 5

uint64_t decide_reserve(const struct decide_policy *policy, uint64_t assigned_bytes)
{
    uint64_t large = less(assigned_bytes, RESERVE_LARGE_BYTES);
    uint64_t share = scaled(assigned_bytes - large, policy->reserve.share, assigned_bytes) +
                     scaled(large, policy->reserve.share / RESERVE_LARGE_PART, assigned_bytes);

    return smaller(larger(share, policy->reserve.min_bytes), assigned_bytes);
}

uint64_t decide_little(const struct decide_policy *policy, uint64_t assigned_bytes)
{
    return decide_reserve(policy, assigned_bytes) / 2;
}

static bool is_fresh(const struct decide_policy *policy, double age_s, double period_s)
{
    return age_s >= -DECIDE_SKEW_S && age_s <= policy->stale_periods * period_s;
}

static bool is_reported(const struct decide_policy *policy, const struct decide_input *input)
{
    const struct decide_guest *guest = &input->guest;

    return guest->reported &&
           is_fresh(policy, guest->age_s, guest->period_s > 0 ? guest->period_s : input->period_s);
}

/* Its kernel uses some of what it has. Statistics from before its balloon moved may be of more. */
static bool is_possible(const struct decide_input *input)
{
    return input->guest.available_bytes < decide_actual(input) ||
           (input->unsettled && input->guest.available_bytes < input->assigned_bytes);
}

bool decide_has_statistics(const struct decide_policy *policy, const struct decide_input *input)
{
    const struct decide_guest *guest = &input->guest;

    return is_reported(policy, input) && is_possible(input) &&
           !(guest->consistency < policy->trust_min);
}

/* Statistics from before the balloon moved do not show what the guest uses now: unless its use at
 * rest is known, they are no reason to give it more. */
static uint64_t used_of(const struct decide_input *input, uint64_t reserve_bytes)
{
    uint64_t actual = decide_actual(input);
    uint64_t used = less(actual, input->guest.available_bytes);

    if (input->guest.used_bytes > 0)
        return smaller(input->guest.used_bytes, input->assigned_bytes);
    return input->unsettled ? smaller(used, less(actual, reserve_bytes)) : used;
}

static uint64_t floor_of_distrusted(const struct decide_policy *policy,
                                    const struct decide_input *input, uint64_t reserve_bytes)
{
    uint64_t most = input->assigned_bytes;
    uint64_t half = most - most / 2;

    if (!is_reported(policy, input) || input->guest.available_bytes == DECIDE_UNKNOWN)
        return half;
    return larger(half, smaller(decide_actual(input),
                                sum_bounded(used_of(input, reserve_bytes), reserve_bytes, most)));
}

/* The part of it that the guest's swap can take: half of the free swap; the rest is reserved. None
 * for a day after a panic: perhaps its processes may not use the swap. */
static uint64_t droppable(const struct decide_policy *policy, const struct decide_input *input)
{
    const struct decide_guest *guest = &input->guest;

    if (guest->swap_total_bytes == DECIDE_UNKNOWN || guest->swap_free_bytes == DECIDE_UNKNOWN ||
        guest->cold_anon_bytes == DECIDE_UNKNOWN ||
        (input->panic_bytes > 0 && input->panic_age_s < policy->learned_half_life_s))
        return 0;
    return smaller(smaller(guest->swap_free_bytes, guest->swap_total_bytes) / 2,
                   guest->cold_anon_bytes);
}

static uint64_t floor_of(const struct decide_policy *policy, const struct decide_input *input,
                         struct decide_decision *decision)
{
    uint64_t most = input->assigned_bytes;

    decision->reserve_bytes = decide_reserve(policy, most);
    decision->floor_kind = FLOOR_HALF;
    decision->used_bytes = decision->droppable_bytes = 0;
    if (!decide_has_statistics(policy, input))
        return floor_of_distrusted(policy, input, decision->reserve_bytes);
    decision->used_bytes = used_of(input, decision->reserve_bytes);
    decision->droppable_bytes = smaller(droppable(policy, input), decision->used_bytes);
    decision->floor_kind = decision->droppable_bytes > 0 ? FLOOR_SWAP : FLOOR_SWAPLESS;
    return sum_bounded(decision->used_bytes - decision->droppable_bytes, decision->reserve_bytes,
                       most);
}

/* Adds what the guest's kernel keeps for itself, by the present MemTotal: memory may have been
 * plugged or unplugged since. Where MemTotal is more than B it has the balloon in it, and so has
 * what was used. */
static uint64_t past_used(const struct decide_input *input)
{
    const struct decide_past *past = &input->past;
    uint64_t total = input->guest.total_bytes;
    uint64_t actual = decide_actual(input);

    if (past->used_bytes == 0 || !input->guest.reported || total == DECIDE_UNKNOWN ||
        total > actual)
        return 0;
    return sum_bounded(past->used_bytes, actual - total, input->assigned_bytes);
}

/* Swap can take then what it can take now. */
static uint64_t past_of(const struct decide_input *input, const struct decide_decision *decision)
{
    uint64_t used = past_used(input);

    if (input->host_short || input->past.span_s <= 0)
        return 0;
    if (used > 0)
        used = sum_bounded(less(used, decision->droppable_bytes), decision->reserve_bytes,
                           input->assigned_bytes);
    return larger(used, smaller(input->past.touched_bytes, input->assigned_bytes));
}

static uint64_t learned(const struct decide_policy *policy, const struct decide_input *input)
{
    double lives = fmax(input->panic_age_s, 0) / policy->learned_half_life_s;

    if (input->panic_bytes == 0 || isnan(input->panic_age_s))
        return 0;
    return scaled(input->panic_bytes, exp2(-lives), input->assigned_bytes);
}

uint64_t decide_band(const struct decide_policy *policy, const struct decide_input *input)
{
    uint64_t most = input->assigned_bytes;
    uint64_t least = larger(policy->band_min_bytes, scaled(most, policy->band_share, most));
    const struct decide_wss *wss = &input->mid_wss;

    return wss->window_s > 0 ? larger(least, less(wss->high_bytes, wss->low_bytes)) : least;
}

double decide_rho(const struct decide_policy *policy, const struct decide_input *input)
{
    double pages = (double)decide_actual(input) / (double)DECIDE_MIB;
    double shares = decide_shares(input);
    double active = 1;

    if (pages <= 0)
        return HUGE_VAL;
    if (input->mid_wss.window_s > 0)
        active = fmin((double)input->mid_wss.high_bytes / (double)DECIDE_MIB / pages, 1);
    return shares / (pages * (active + policy->idle_tax * (1 - active)));
}

/* --- vetoes and panic ------------------------------------------------------------------------- */

/* Compares with the lower bound: a less certain WSS must not allow more refaults. */
static bool refaults_much(const struct decide_policy *policy, const struct decide_input *input)
{
    const struct decide_guest *guest = &input->guest;
    double rate = (isnan(guest->refault_bytes_s) ? 0 : guest->refault_bytes_s) +
                  (isnan(guest->swap_in_bytes_s) ? 0 : guest->swap_in_bytes_s);

    return 60 * rate > policy->refault_share_min * (double)input->mid_wss.low_bytes;
}

static unsigned guest_vetoes(const struct decide_policy *policy, const struct decide_input *input)
{
    unsigned vetoes = 0;

    if (fmax(input->guest.psi_some, input->guest.psi_full) >= policy->psi_some_veto ||
        input->guest.stalls_s > 0)
        vetoes |= VETO_PRESSURE;
    if (refaults_much(policy, input))
        vetoes |= VETO_REFAULTS;
    if (input->guest.near_or_above)
        vetoes |= VETO_VERDICT;
    return vetoes;
}

static unsigned past_vetoes(const struct decide_policy *policy, const struct decide_input *input)
{
    const struct decide_past *past = &input->past;
    unsigned vetoes = fmax(past->span_s, input->day_s) >= policy->past.day_min_s ? 0 : VETO_DAY;

    if (past->tested ? (double)past->exceeded > policy->past.exceeded_max * (double)past->scored
                     : policy->past.needed)
        vetoes |= VETO_PAST;
    return vetoes;
}

unsigned decide_vetoes(const struct decide_policy *policy, const struct decide_input *input)
{
    unsigned vetoes = input->vetoes;

    if (input->short_wss.window_s <= 0 || input->mid_wss.window_s <= 0)
        vetoes = (vetoes & ~(unsigned)VETO_WINDOW) | VETO_NOT_MEASURED;
    else if (input->long_wss.window_s <= 0)
        vetoes |= VETO_WINDOW;
    if (!is_fresh(policy, input->age_s, input->period_s))
        vetoes |= VETO_STALE;
    if (!(input->up_s >= policy->young_s))
        vetoes |= VETO_YOUNG;
    if (!(vetoes & VETO_NOT_MEASURED) &&
        (double)input->unmeasurable_bytes >
            policy->unmeasurable_share * (double)input->resident_bytes)
        vetoes |= VETO_UNMEASURABLE;
    if (input->unsettled)
        vetoes |= VETO_UNSETTLED;
    if (policy->needs_statistics && !decide_has_statistics(policy, input))
        vetoes |= VETO_STATISTICS;
    if (input->stalled)
        vetoes |= VETO_PRESSURE;
    if (!input->host_short)
        vetoes |= past_vetoes(policy, input);
    /* Complaints count even if the statistics are inconsistent: the guest keeps what it has, and
     * takes nothing from others. */
    return input->guest.reported ? vetoes | guest_vetoes(policy, input) : vetoes;
}

/* Returns how much must be available at least for PSI to be no panic. Statistics that are older
 * than a stall do not show what has been used since. */
static uint64_t plenty(const struct decide_policy *policy, const struct decide_input *input)
{
    uint64_t most = input->assigned_bytes;
    uint64_t bytes = scaled(decide_reserve(policy, most), policy->reserve.scarce, most);

    return input->stalled ? larger(bytes, decide_actual(input) / 2) : bytes;
}

/* Memory that is not known to be available counts as scarce. */
static bool does_memory_help(const struct decide_policy *policy, const struct decide_input *input)
{
    uint64_t available = input->guest.available_bytes;

    return !input->guest.unhelped &&
           (available == DECIDE_UNKNOWN || available < plenty(policy, input));
}

static unsigned guest_panics(const struct decide_policy *policy, const struct decide_input *input)
{
    const struct decide_guest *guest = &input->guest;
    unsigned panics = 0;
    bool helps = does_memory_help(policy, input);

    if (helps && (guest->psi_some >= policy->psi_some_panic || input->stalled))
        panics |= PANIC_PSI_SOME;
    if (helps && guest->psi_full >= policy->psi_full_panic)
        panics |= PANIC_PSI_FULL;
    if (helps && guest->stalls_s >= policy->stalls_panic)
        panics |= PANIC_STALLS;
    if (guest->available_bytes < decide_little(policy, input->assigned_bytes))
        panics |= PANIC_AVAILABLE;
    if (guest->oom_kill)
        panics |= PANIC_OOM_KILL;
    return panics;
}

unsigned decide_panics(const struct decide_policy *policy, const struct decide_input *input)
{
    unsigned panics = decide_has_statistics(policy, input) ? guest_panics(policy, input) : 0;

    if (input->short_wss.window_s > 0 && is_fresh(policy, input->age_s, input->period_s) &&
        (double)input->short_wss.low_bytes > policy->wss_share_panic * (double)decide_actual(input))
        panics |= PANIC_WSS;
    return panics;
}

unsigned decide_claims(const struct decide_policy *policy, const struct decide_input *input)
{
    if (decide_has_statistics(policy, input))
        return 0;
    if (is_reported(policy, input))
        return guest_panics(policy, input);
    return input->stalled ? PANIC_PSI_SOME : 0;
}

/* --- together --------------------------------------------------------------------------------- */

static unsigned find_unsure(const struct decide_policy *policy, const struct decide_input *input)
{
    const struct decide_wss *wss = &input->mid_wss;
    unsigned unsure = input->unsure;

    if (!decide_has_statistics(policy, input))
        unsure |= UNSURE_STATISTICS;
    if (!(input->day_s >= DAY_ENOUGH_S))
        unsure |= UNSURE_DAY;
    if (wss->window_s > 0 &&
        (double)less(wss->high_bytes, wss->low_bytes) > WIDE_SHARE * (double)input->assigned_bytes)
        unsure |= UNSURE_WIDE;
    if (input->actual_bytes == DECIDE_UNKNOWN)
        unsure |= UNSURE_ACTUAL;
    return unsure;
}

static enum decide_confidence confidence(const struct decide_input *input,
                                         const struct decide_decision *decision)
{
    if (decision->vetoes || (decision->unsure & UNSURE_FLAGS) || !(input->day_s >= DAY_LITTLE_S))
        return CONFIDENCE_LOW;
    return decision->unsure ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH;
}

/* Rounds to whole MiB, so that the target does not follow noise. */
static uint64_t whole_mib(uint64_t bytes, uint64_t most)
{
    uint64_t over = bytes % DECIDE_MIB;

    return over == 0 ? smaller(bytes, most) : sum_bounded(bytes - over, DECIDE_MIB, most);
}

static void raise(struct decide_decision *decision, uint64_t bytes, enum decide_term term)
{
    if (bytes <= decision->wanted_bytes)
        return;
    decision->wanted_bytes = bytes;
    decision->term = term;
}

static void want(const struct decide_input *input, struct decide_decision *decision)
{
    uint64_t most = decide_most(input);

    decision->term = TERM_DEMAND;
    decision->wanted_bytes = decision->demand_bytes;
    raise(decision, decision->floor_bytes, TERM_FLOOR);
    raise(decision, smaller(input->reserved_bytes, input->assigned_bytes), TERM_RESERVATION);
    raise(decision, decision->memory.learned_bytes, TERM_LEARNED);
    /* Nothing grows for it: a host that is just no longer short would be short again. */
    raise(decision, smaller(decision->memory.past_bytes, decide_actual(input)), TERM_PAST);
    if (!decision->measured)
        raise(decision, decide_actual(input), TERM_ACTUAL);
    if (decision->term != TERM_ACTUAL) /* the current size need not be whole */
        decision->wanted_bytes = whole_mib(decision->wanted_bytes, input->assigned_bytes);
    decision->limited = most < input->assigned_bytes &&
                        (decision->panics || decision->wanted_bytes > most);
    decision->wanted_bytes = smaller(decision->wanted_bytes, most);
    if (decision->panics)
        raise(decision, most, TERM_ASSIGNED);
}

/* It needs a little more than it has: its reserve covers that. */
static bool is_covered(const struct decide_policy *policy, const struct decide_input *input,
                       const struct decide_decision *decision)
{
    uint64_t actual = decide_actual(input);
    uint64_t band = scaled(decision->reserve_bytes, policy->reserve.growth_band,
                           input->assigned_bytes);

    return !decision->panics && input->reserved_bytes <= actual &&
           less(decision->wanted_bytes, actual) <= band;
}

static void choose_target(const struct decide_policy *policy, const struct decide_input *input,
                          struct decide_decision *decision)
{
    uint64_t actual = decide_actual(input);
    bool grows = decision->wanted_bytes > actual && !is_covered(policy, input, decision);

    decision->target_bytes = grows ? decision->wanted_bytes
                                   : smaller(decision->wanted_bytes, actual);
    decision->action = grows ? ACTION_GROW : ACTION_KEEP;
    if (decision->wanted_bytes >= actual)
        return;
    if (decision->vetoes || actual - decision->wanted_bytes <= decision->band_bytes) {
        decision->target_bytes = actual;
        decision->term = TERM_ACTUAL;
        return;
    }
    decision->action = ACTION_SHRINK;
}

void decide(const struct decide_policy *policy, const struct decide_input *input,
            struct decide_decision *decision)
{
    *decision = (struct decide_decision){0};
    decision->demand_bytes = demand(policy, input, decision);
    decision->measured = input->short_wss.window_s > 0 && input->mid_wss.window_s > 0 &&
                         !decide_is_ahead(input);
    decision->floor_bytes = floor_of(policy, input, decision);
    decision->memory.learned_bytes = learned(policy, input);
    decision->memory.past_bytes = past_of(input, decision);
    decision->band_bytes = decide_band(policy, input);
    decision->vetoes = decide_vetoes(policy, input);
    decision->panics = decide_panics(policy, input);
    decision->claims = decide_claims(policy, input);
    decision->unsure = find_unsure(policy, input);
    decision->confidence = confidence(input, decision);
    decision->rho = decide_rho(policy, input);
    want(input, decision);
    choose_target(policy, input, decision);
    if (decision->action == ACTION_SHRINK)
        decision->give_back_bytes = less(input->resident_bytes, decision->target_bytes);
}
