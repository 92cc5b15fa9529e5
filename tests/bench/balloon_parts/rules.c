// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rules.h"

#include "base/bytes.h"

#include <math.h>
#include <string.h>

static bool is_every(const struct sim *sim, unsigned seconds)
{
    return (uint64_t)sim->now_s % seconds == 0;
}

static void nothing(struct rules_state *state, struct sim *sim)
{
    (void)state, (void)sim;
}

/* --- ours ------------------------------------------------------------------------------------- */

/* As vmwss-balloond, which asks every five seconds. */
static bool panics_now(const struct rules_state *state, const struct sim *sim, size_t i)
{
    const struct sim_guest *guest = &sim->guests[i];

    return guest->target_bytes < guest->assigned_bytes &&
           decide_panics(&state->policy.decide, &state->guests[i].input);
}

static void run_ours(struct rules_state *state, struct sim *sim)
{
    struct control_host host = {.total_bytes = sim->total_bytes,
                                .free_bytes = sim_available(sim),
                                .now_s = sim->now_s,
                                .level = state->level,
                                .waiting_bytes = state->waiting_bytes,
                                .ease = state->ease};

    control_run(&state->policy, &host, state->guests, sim->n);
    state->level = host.level;
    state->waiting_bytes = host.waiting_bytes;
    state->ease = host.ease;
    for (size_t i = 0; i < sim->n; i++) {
        struct control_guest *guest = &state->guests[i];

        if (guest->action == CONTROL_NONE)
            continue;
        balloon_issued(&guest->state, &guest->input, guest->target_bytes, sim->now_s);
        sim_set(&sim->guests[i], guest->target_bytes);
    }
}

const char *const sim_terms[N_TERMS] = {
    "day",  "past",    "backtest",   "first-day", "statistics", "reserve",
    "band", "learned", "turn-pause", "headroom",  "pace",
};

static void leave_out_of_policy(unsigned without, struct decide_policy *policy)
{
    if (without & WITHOUT_BACKTEST)
        policy->past.exceeded_max = 1;
    if (without & WITHOUT_FIRST_DAY)
        policy->past.day_min_s = 0;
    if (without & WITHOUT_STATISTICS)
        policy->needs_statistics = false;
    if (without & WITHOUT_RESERVE)
        policy->reserve.share = (double)(policy->reserve.min_bytes = 0);
    if (without & WITHOUT_BAND)
        policy->band_share = (double)(policy->band_min_bytes = 0);
    if (without & WITHOUT_LEARNED)
        policy->learned_half_life_s = 1;
    if (without & WITHOUT_TURN_PAUSE)
        policy->turn_pause_s = 0;
    if (without & WITHOUT_HEADROOM)
        policy->short_factor = policy->mid_factor = policy->long_factor = 1;
    if (without & WITHOUT_PACE) {
        policy->down_after_s = 0;
        policy->down_share = 1;
        policy->down_max_bytes = UINT64_MAX;
    }
}

static void leave_out_of_input(unsigned without, struct decide_input *input)
{
    if (without & WITHOUT_DAY)
        input->day_bytes = 0;
    if (without & WITHOUT_PAST)
        input->past.touched_bytes = input->past.used_bytes = 0;
}

static void ours_begin(struct rules_state *state, struct sim *sim)
{
    state->policy.decide.past.day_min_s = 86400;
    state->policy.decide.past.needed = true;
    leave_out_of_policy(state->without, &state->policy.decide);
    for (size_t i = 0; i < sim->n; i++)
        past_begin(&state->pasts[i]);
}

static void ours(struct rules_state *state, struct sim *sim)
{
    bool panic = false;

    if (!is_every(sim, 5))
        return;
    for (size_t i = 0; i < sim->n; i++) {
        sim_input(&sim->guests[i], sim->now_s, &state->guests[i].input);
        if (is_every(sim, 60) && sim->now_s > 0)
            past_see(&state->pasts[i], sim->now_s, &state->guests[i].input);
        else
            past_know(&state->pasts[i], &state->guests[i].input);
        leave_out_of_input(state->without, &state->guests[i].input);
        panic = panic || panics_now(state, sim, i);
    }
    if (panic || is_every(sim, SIM_BUCKET_S))
        run_ours(state, sim);
}

/* --- MOM's ------------------------------------------------------------------------------------ */

static uint64_t mean_used(struct rules_state *state, const struct sim *sim, size_t i)
{
    const struct sim_guest *guest = &sim->guests[i];
    unsigned n = (unsigned)smaller(state->n_used + 1, 10);
    uint64_t sum = 0;

    state->used[i][state->n_used % 10] = sim_used(guest) + guest->cache_bytes;
    for (unsigned k = 0; k < n; k++)
        sum += state->used[i][k];
    return sum / n;
}

static void mom(struct rules_state *state, struct sim *sim)
{
    if (!is_every(sim, 10))
        return;

    bool pressure = (double)sim_free(sim) < 0.20 * (double)sim->total_bytes;

    for (size_t i = 0; i < sim->n; i++) {
        struct sim_guest *guest = &sim->guests[i];
        double size = (double)guest->actual_bytes;
        double wanted = (double)mean_used(state, sim, i) + 0.20 * size;

        if (pressure && wanted < size)
            sim_set(guest, (uint64_t)fmax(wanted, 0.95 * size));
        else if (!pressure && size < (double)guest->assigned_bytes)
            sim_set(guest, (uint64_t)fmax(wanted, 1.05 * size));
    }
    state->n_used++;
}

/* --- Proxmox's -------------------------------------------------------------------------------- */

#define STEP_BYTES (100 * MIB)

static uint64_t minimum(const struct sim_guest *guest)
{
    return guest->assigned_bytes / 4;
}

static void proxmox_begin(struct rules_state *state, struct sim *sim)
{
    (void)state;
    for (size_t i = 0; i < sim->n; i++)
        sim_set(&sim->guests[i], minimum(&sim->guests[i]));
}

static void proxmox(struct rules_state *state, struct sim *sim)
{
    double goal = 0.80 * (double)sim->total_bytes - (double)(sim->total_bytes - sim_free(sim));
    double pool = goal, shares = 0;

    (void)state;
    if (!is_every(sim, 10) || fabs(goal) < 10 * (double)MIB)
        return;
    for (size_t i = 0; i < sim->n; i++) {
        pool += (double)less(sim->guests[i].actual_bytes, minimum(&sim->guests[i]));
        shares += (double)sim->guests[i].assigned_bytes;
    }
    for (size_t i = 0; i < sim->n; i++) {
        struct sim_guest *guest = &sim->guests[i];
        double part = fmax(pool, 0) * (double)guest->assigned_bytes / shares;
        double wanted = fmin((double)minimum(guest) + part, (double)guest->assigned_bytes);
        double size = (double)guest->actual_bytes;

        wanted = fmin(fmax(wanted, size - (double)STEP_BYTES), size + (double)STEP_BYTES);
        if ((goal > 0) == (wanted > size))
            sim_set(guest, (uint64_t)wanted);
    }
}

/* --- WSS + 25 % ------------------------------------------------------------------------------- */

static void wss_and_a_quarter(struct rules_state *state, struct sim *sim)
{
    (void)state;
    if (!is_every(sim, 60) || sim->now_s < 60)
        return;
    for (size_t i = 0; i < sim->n; i++) {
        struct sim_guest *guest = &sim->guests[i];
        struct decide_input input;

        sim_input(guest, sim->now_s, &input);
        uint64_t wss = (input.short_wss.low_bytes + input.short_wss.high_bytes) / 2;

        sim_set(guest, larger(guest->assigned_bytes / 4, wss + wss / 4));
    }
}

const struct rule rules[N_RULES] = {
    {"nothing", false, NULL, nothing},
    {"vmwss", true, ours_begin, ours},
    {"MOM's", false, NULL, mom},
    {"Proxmox's", false, proxmox_begin, proxmox},
    {"WSS + 25 %", false, NULL, wss_and_a_quarter},
};
