// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_plan.c  The planner: its parts against what is known, and what every plan must hold.
 */
#include "decide/plan/plan.h"

#include "base/random.h"
#include "decide/plan/past.h"

#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GIB (1ULL << 30)
#define DAY_S 86400.0
#define MONDAY_S (4 * DAY_S) /* 1970-01-05 */

static const struct plan_options bare = {
    .risk = 0.001, .horizon_s = 0, .bare = true, .max_moves = SIZE_MAX};

/* Hosts of 64 GiB, guests of 8, round and round; nothing known yet. */
static struct plan_fleet make_fleet_by(int step_s, size_t n_hosts, size_t n_guests, double days)
{
    const double to_s = MONDAY_S + days * DAY_S;
    struct plan_fleet fleet;

    ck_assert_int_eq(plan_fleet_make(&fleet, n_hosts, n_guests, MONDAY_S, to_s, step_s), 0);
    for (size_t h = 0; h < n_hosts; h++)
        fleet.hosts[h].capacity_bytes = 64 * GIB;
    for (size_t g = 0; g < n_guests; g++) {
        fleet.guests[g].ram_bytes = 8 * GIB;
        fleet.guests[g].host = g % n_hosts;
    }
    return fleet;
}

static struct plan_fleet make_fleet(size_t n_hosts, size_t n_guests, double days)
{
    return make_fleet_by(60, n_hosts, n_guests, days);
}

static void note_all(struct plan_fleet *fleet, size_t guest, double gib)
{
    plan_note(fleet, guest, fleet->from_s, (double)fleet->n_times * fleet->step_s,
              gib * (double)GIB);
}

static struct plan_state prepare(struct plan_fleet *fleet, const struct plan_options *options)
{
    struct plan_state state;

    ck_assert_int_eq(plan_profile(fleet), 0);
    plan_prepare(fleet, options);
    ck_assert_int_eq(plan_state_make(&state, fleet, options), 0);
    return state;
}

/* --- parts ------------------------------------------------------------------------------------ */

FIXTURE(cases, .timeout_s = 120);

TEST(cases, slots_are_hours_of_weekdays_and_weekends)
{
    ck_assert_uint_eq(plan_slot(0), 0); /* a Thursday */
    ck_assert_uint_eq(plan_slot(2 * DAY_S - 1), 23);
    ck_assert_uint_eq(plan_slot(2 * DAY_S), 24); /* Saturday */
    ck_assert_uint_eq(plan_slot(4 * DAY_S - 1), 47);
    ck_assert_uint_eq(plan_slot(4 * DAY_S), 0);
}

TEST(cases, the_step_is_as_short_as_memory_allows)
{
    ck_assert_int_eq(plan_step_s(28 * DAY_S, 20), 60);
    ck_assert_int_eq(plan_step_s(28 * DAY_S, 20000), 180);
    ck_assert_int_eq(plan_step_s(14 * DAY_S, 20000), 120);
    ck_assert_int_eq(plan_step_s(36500 * DAY_S, 1000000), 3600);
}

/* Never rounded down, the larger stays, and nothing outside of the fleet's time. */
TEST(cases, a_note_is_rounded_up)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet(1, 2, 1);
    const double unit = plan_unit(&fleet.guests[0]);

    plan_note(&fleet, 0, MONDAY_S, 60, 2.5 * unit);
    plan_note(&fleet, 0, MONDAY_S, 60, 1 * unit);
    plan_note(&fleet, 0, MONDAY_S + 60, 90, 4 * unit);
    plan_note(&fleet, 0, MONDAY_S - 600, 60, 9 * unit);
    plan_note(&fleet, 0, MONDAY_S + DAY_S, 60, 9 * unit);
    plan_note(&fleet, 0, MONDAY_S + DAY_S - 60, 600, 1e30);
    ck_assert_uint_eq(plan_series(&fleet, 0)[0], 3);
    ck_assert_uint_eq(plan_series(&fleet, 0)[1], 4);
    ck_assert_uint_eq(plan_series(&fleet, 0)[2], 4);
    ck_assert_uint_eq(plan_series(&fleet, 0)[3], PLAN_CODE_NONE);
    ck_assert_uint_eq(plan_series(&fleet, 0)[fleet.n_times - 1], PLAN_CODE_MAX);
    ck_assert_uint_eq(plan_series(&fleet, 1)[0], PLAN_CODE_NONE);
}

TEST(cases, z_of_a_risk)
{
    ck_assert_double_eq_tol(plan_z(0.5), 0, 1e-6);
    ck_assert_double_eq_tol(plan_z(0.025), 1.959964, 1e-5);
    ck_assert_double_eq_tol(plan_z(0.001), 3.090232, 1e-5);
}

TEST(cases, a_size_has_its_margins)
{
    struct plan_guest guest = {.ram_bytes = 8 * GIB, .size_bytes = 2.0 * GIB, .days = 10};

    ck_assert_double_eq_tol(plan_right_size(&guest, 0.15), 1.15 * 2 * 1.1 * GIB, 1);
    guest.used_bytes = 4 * GIB; /* without swap it cannot give that back */
    ck_assert_double_eq_tol(plan_right_size(&guest, 0.15), 4 * 1.1 * GIB, 1);
    guest.days = 0.1; /* hardly known */
    ck_assert_double_eq_tol(plan_right_size(&guest, 0.15), 32.0 * GIB, 1);
    guest.days = 1e9;
    guest.used_bytes = 0;
    guest.size_bytes = 7.9 * GIB; /* it may need more than it has */
    ck_assert_double_ge(plan_right_size(&guest, 0.15), 8.0 * GIB);
    guest.size_bytes = 0;
    ck_assert_double_eq(plan_right_size(&guest, 0.15), 0);
}

/* A day of each week is far off, and one day is missing: the slope is still that of all others. */
TEST(cases, the_trend_is_robust)
{
    double day[42];
    struct trend trend;

    for (int d = 0; d < 42; d++)
        day[d] = 100 + 2.0 * d + (d % 7 == 3 ? 500 : 0) + (d % 5) * 0.01;
    day[17] = NAN;
    day[20] = 1e9;
    trend = trend_of(day, 42);
    ck_assert_double_eq_tol(trend.slope, 2, 0.01);
    ck_assert(trend.low > 1.9 && trend.high < 2.1);
    ck_assert_uint_eq(trend_of(day, 13).pairs, 0);
    ck_assert_double_eq(trend_days_until(100, 2, 120), 10);
    ck_assert_double_eq(trend_days_until(120, 2, 120), 0);
    ck_assert(isinf(trend_days_until(100, -1, 120)));
}

/* A falling trend has the mirrored interval: both ends are equally many pairs from the middle. */
TEST(cases, the_interval_of_a_trend_is_symmetric)
{
    uint64_t random_state = 3;
    double up[28];
    double down[28];

    for (int d = 0; d < 28; d++) {
        up[d] = (double)random_below(&random_state, 1 << 20);
        down[d] = -up[d];
    }
    ck_assert(isfinite(trend_of(up, 28).low));
    ck_assert_double_eq(trend_of(up, 28).low, -trend_of(down, 28).high);
    ck_assert_double_eq(trend_of(up, 28).high, -trend_of(down, 28).low);
}

/* Noise alone: the interval has 0 in it for at least nine of ten; 95 % on average. */
TEST(cases, noise_is_no_trend)
{
    uint64_t random_state = 7;
    int holds = 0;

    for (int i = 0; i < 1000; i++) {
        double day[28];
        struct trend trend;

        for (int d = 0; d < 28; d++)
            day[d] = (double)random_below(&random_state, 1 << 20);
        trend = trend_of(day, 28);
        holds += trend.low <= 0 && trend.high >= 0;
    }
    ck_assert_int_ge(holds, 920);
    ck_assert_int_lt(holds, 1000);
}

/* --- needs ------------------------------------------------------------------------------------ */

/* Two guests that are busy for the same three minutes of each hour, and two that are not: the sum
 * is of the moments, not of the quantiles. */
TEST(cases, needs_are_joint)
{
    for (int together = 0; together < 2; together++) {
        struct plan_fleet fleet = make_fleet(1, 2, 21);
        struct plan_need need;
        float *joint = calloc(fleet.n_times, sizeof(float));
        float *draft = calloc(fleet.n_times, sizeof(float));

        for (size_t g = 0; g < 2; g++) {
            note_all(&fleet, g, 1);
            for (double t = MONDAY_S + (together ? 0 : g * 1800.0); t < MONDAY_S + 21 * DAY_S;
                 t += 3600)
                plan_note(&fleet, g, t, 180, 6.0 * GIB);
        }
        ck_assert_int_eq(plan_profile(&fleet), 0);
        plan_joint(&fleet, 0, joint);
        plan_need_of(&(struct plan_sum){joint, fleet.n_times, 60, 21}, 11.0 * GIB, 0.001, draft,
                     &need);
        ck_assert_double_eq_tol(need.p50_bytes, 2.0 * GIB, 0.1 * GIB);
        ck_assert_double_eq_tol(need.risk_bytes, (together ? 12.0 : 7.0) * GIB, 0.1 * GIB);
        ck_assert_double_eq_tol(need.short_share, together ? 0.05 : 0, 1e-9);
        ck_assert_double_eq(need.longest_s, together ? 180 : 0);
        free(joint);
        free(draft);
        plan_fleet_free(&fleet);
    }
}

/* 1 and 3 GiB in turn: mean 2, deviation 1. */
TEST(cases, little_history_is_five_sigmas)
{
    float joint[1000];
    float draft[1000];
    struct plan_need need;

    for (size_t t = 0; t < 1000; t++)
        joint[t] = t % 2 ? 1 : 3;
    plan_need_of(&(struct plan_sum){joint, 1000, 3600, 13.4}, 10, 0.001, draft, &need);
    ck_assert_double_eq_tol(need.risk_bytes, 7, 1e-9);
    plan_need_of(&(struct plan_sum){joint, 1000, 3600, 13.6}, 10, 0.001, draft, &need);
    ck_assert_double_eq_tol(need.risk_bytes, 3, 1e-9);
}

/* 4 GiB more a day on a host of 64: from 20 to 85 % of it. */
TEST(cases, the_runway)
{
    struct plan_runway runway;
    struct plan_sum sum = {.n = 28 * 24, .step_s = 3600, .days = 28};
    size_t n = sum.n;
    cleanup_free float *joint = calloc(n, sizeof(float));
    cleanup_free float *draft = calloc(n, sizeof(float));

    for (size_t t = 0; t < n; t++)
        joint[t] = (float)(20 + 0.5 * (double)(t / 24));
    sum.joint = joint;
    ck_assert_int_eq(plan_runway_of(&sum, 64, draft, &runway), 0);
    ck_assert(runway.known);
    ck_assert_double_eq_tol(runway.slope_bytes_day, 0.5, 1e-6);
    ck_assert_double_eq_tol(runway.days, (0.85 * 64 - 33.5) / 0.5, 1e-3);
    ck_assert(runway.low_days <= runway.days && runway.days <= runway.high_days);
    sum.days = 13; /* before that it is made up */
    ck_assert_int_eq(plan_runway_of(&sum, 64, draft, &runway), 0);
    ck_assert(!runway.known);
    sum.days = 28;
    sum.n = 13 * 24;
    ck_assert_int_eq(plan_runway_of(&sum, 64, draft, &runway), 0);
    ck_assert(!runway.known);
}

/* 1 and 3 GiB in turn: of guest 0 for 28 days, of guest 1 for the last three. */
static void note_old_and_new(struct plan_fleet *fleet)
{
    for (size_t g = 0; g < 2; g++)
        for (double t = g == 0 ? 0 : 25 * DAY_S; t < 28 * DAY_S; t += 1200) {
            plan_note(fleet, g, fleet->from_s + t, 600, 1.0 * GIB);
            plan_note(fleet, g, fleet->from_s + t + 600, 600, 3.0 * GIB);
        }
}

/* Two hosts of one guest each, of the same need; the one is new in a fleet of 28 days. */
TEST(cases, a_host_has_its_own_days)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet_by(600, 3, 2, 28);
    struct plan_request request = {.options = bare};
    cleanup_plan_result struct plan_result result;

    note_old_and_new(&fleet);
    request.options.bare = false;
    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    ck_assert_double_eq_tol(fleet.hosts[0].days, 28, 1e-9);
    ck_assert_double_eq_tol(fleet.hosts[1].days, 3, 1e-9);
    ck_assert_double_eq_tol(fleet.hosts[2].days, 28, 1e-9); /* of all */
    ck_assert(result.hosts[0].runway.known && !result.hosts[1].runway.known);
    ck_assert_double_eq_tol(result.hosts[0].need.risk_bytes, 3.0 * GIB, 0.1 * GIB);
    ck_assert_double_eq_tol(result.hosts[1].need.risk_bytes, 7.0 * GIB, 0.2 * GIB);
}

/* A place for the same guest: by three deviations on the one host, five on the other. */
TEST(cases, a_place_is_by_the_days_of_its_host)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet_by(600, 2, 2, 28);
    struct plan_state state;

    note_old_and_new(&fleet);
    state = prepare(&fleet, &bare);
    ck_assert_double_eq_tol(plan_load_peak(&state.loads[0], NULL), (2 + 3.09) * GIB, 0.1 * GIB);
    ck_assert_double_eq_tol(plan_load_peak(&state.loads[1], NULL), (2 + 5.0) * GIB, 0.1 * GIB);
    plan_state_free(&state);
}

/* One day of twenty is known, its night busy: so are all nights, and the need is doubled. */
TEST(cases, a_young_guest_counts_for_more)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet(1, 2, 20);
    const double unit = plan_unit(&fleet.guests[0]);
    struct plan_options options = bare;

    options.bare = false;
    plan_note(&fleet, 0, MONDAY_S + 19 * DAY_S, DAY_S, 1.0 * GIB);
    plan_note(&fleet, 0, MONDAY_S + 19 * DAY_S, 3600, 2.0 * GIB);
    ck_assert_int_eq(plan_profile(&fleet), 0);
    ck_assert_double_eq_tol(fleet.guests[0].days, 1, 1e-9);
    ck_assert_double_eq_tol(plan_series(&fleet, 0)[0] * unit, 2.0 * GIB, 0.1 * GIB);
    ck_assert_double_eq_tol(plan_series(&fleet, 0)[60] * unit, 1.0 * GIB, 0.1 * GIB);
    ck_assert_uint_eq(plan_series(&fleet, 1)[0], PLAN_CODE_MAX); /* nothing is known of it */
    plan_prepare(&fleet, &options);
    ck_assert_double_eq_tol(plan_series(&fleet, 0)[0] * unit, 4.0 * GIB, 0.1 * GIB);
    ck_assert_double_eq_tol(fleet.guests[0].slots[5].mean_bytes, 2.0 * GIB, 0.1 * GIB);
}

/* An hour in which nothing was recorded is as a week before: guests that are not busy together do
 * not become so. */
TEST(cases, a_gap_is_as_a_week_before)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet(1, 1, 21);
    const double gap_s = MONDAY_S + 10 * DAY_S + 3600;

    note_all(&fleet, 0, 1);
    plan_note(&fleet, 0, gap_s - 7 * DAY_S, 60, 5.0 * GIB);
    plan_note(&fleet, 0, gap_s - 1 * DAY_S, 60, 7.0 * GIB);
    memset(plan_series(&fleet, 0) + 10 * 1440 + 60, PLAN_CODE_NONE, 60);
    ck_assert_int_eq(plan_profile(&fleet), 0);
    ck_assert_uint_eq(plan_series(&fleet, 0)[10 * 1440 + 60],
                      plan_series(&fleet, 0)[3 * 1440 + 60]);
    ck_assert_uint_eq(plan_series(&fleet, 0)[10 * 1440 + 61], plan_series(&fleet, 0)[0]);
}

/* --- placing ---------------------------------------------------------------------------------- */

/* Three of six GiB each fit on 20 when they are busy at different times, not when together. */
TEST(cases, a_guest_fits_by_its_moments)
{
    for (int together = 0; together < 2; together++) {
        struct plan_fleet fleet = make_fleet(2, 3, 14);
        struct plan_state state;
        struct plan_shape shape;

        fleet.hosts[0].capacity_bytes = 15 * GIB;
        fleet.hosts[0].reserve_bytes = 1 * GIB;
        for (size_t g = 0; g < 3; g++) {
            fleet.guests[g].host = g == 2;
            note_all(&fleet, g, 1);
            for (int d = 0; d < 14; d++)
                plan_note(&fleet, g, MONDAY_S + d * DAY_S + (together ? 0 : g * 7200.0), 3600,
                          6.0 * GIB);
        }
        state = prepare(&fleet, &bare);
        shape = plan_shape_of(&fleet, 2);
        ck_assert_int_eq(plan_load_fits(&state, &state.loads[0], &shape), !together);
        plan_state_free(&state);
        plan_fleet_free(&fleet);
    }
}

/* A new guest of 8 GiB is like those there, which need half of theirs: 64 GiB, of which 8 are
 * needed, take 14 more. */
TEST(cases, how_many_more)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet_by(600, 1, 2, 14);
    struct plan_state state;
    uint64_t random_state = 1;
    cleanup_free double *draws = calloc(fleet.n_times, sizeof(*draws));

    note_all(&fleet, 0, 4);
    note_all(&fleet, 1, 4);
    state = prepare(&fleet, &bare);
    ck_assert_double_eq(plan_how_many(&state, 0, 8.0 * GIB, &random_state, draws), 14);
    fleet.hosts[0].stale = true;
    ck_assert_double_eq(plan_how_many(&state, 0, 8.0 * GIB, &random_state, draws), 0);
    plan_state_free(&state);
}

/* All guests need a quarter of what they have: hosts take four times their memory, less what the
 * next guest would have needed. */
TEST(cases, the_ratio)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet_by(1800, 4, 200, 14);
    struct plan_state state;
    struct plan_ratio ratio;
    uint64_t random_state = 1;

    for (size_t g = 0; g < 200; g++)
        note_all(&fleet, g, 2);
    state = prepare(&fleet, &bare);
    ck_assert_int_eq(plan_ratio_of(&state, &random_state, &ratio), 0);
    ck_assert_double_eq_tol(ratio.ratio, 4, 0.15);
    ck_assert(!ratio.at_least);
    plan_state_free(&state);
}

/* --- what every plan must hold ---------------------------------------------------------------- */

/* Guests with bursts at random and at common times, some young, pinned, apart; hosts of different
 * size, some short. */
static struct plan_fleet random_fleet(uint64_t *random_state)
{
    const size_t n_hosts = 2 + random_below(random_state, 8);
    const size_t n_guests = random_below(random_state, 60);
    const double days = 8 + (double)random_below(random_state, 12);
    struct plan_fleet fleet = make_fleet_by(600, n_hosts, n_guests, days);

    for (size_t h = 0; h < n_hosts; h++) {
        fleet.hosts[h].capacity_bytes = (8 + random_below(random_state, 57)) * GIB;
        fleet.hosts[h].reserve_bytes = random_below(random_state, 4) * GIB;
        fleet.hosts[h].stale = random_below(random_state, 10) == 0;
        fleet.hosts[h].cpus = random_below(random_state, 2) ? 0 : 4 + (double)h;
    }
    for (size_t g = 0; g < n_guests; g++) {
        struct plan_guest *guest = &fleet.guests[g];
        const double from_s = fleet.from_s + (random_below(random_state, 4) == 0) * 4 * DAY_S;
        const double end_s = fleet.from_s + (double)fleet.n_times * fleet.step_s;

        guest->host = random_below(random_state, n_hosts);
        guest->pinned = random_below(random_state, 8) == 0;
        guest->cpus = 0.25 * (double)random_below(random_state, 12);
        guest->apart = random_below(random_state, 4) ? 0 : 1ULL << random_below(random_state, 3);
        if (guest->apart == 0 && random_below(random_state, 4) == 0)
            guest->together = 1 + random_below(random_state, 3);
        plan_note(&fleet, g, from_s, end_s - from_s,
                  0.1 * (double)random_below(random_state, 20) * GIB);
        for (double t = from_s + 3600.0 * (double)random_below(random_state, 6); t < end_s;
             t += 21600)
            plan_note(&fleet, g, t, 600, (double)random_below(random_state, 8) * GIB);
    }
    return fleet;
}

static bool has_clash(const struct plan_fleet *fleet, const size_t *at, size_t guest)
{
    for (size_t g = 0; g < fleet->n_guests; g++)
        if (g != guest && at[g] == at[guest] && fleet->guests[g].apart & fleet->guests[guest].apart)
            return true;
    return false;
}

/* From the series alone, without anything of load.c. */
static size_t times_short(const struct plan_fleet *fleet, const size_t *at, size_t host)
{
    const struct plan_host *of = &fleet->hosts[host];
    const double limit = (double)of->capacity_bytes - (double)of->reserve_bytes;
    size_t n = 0;

    for (size_t t = 0; t < fleet->n_times; t++) {
        double sum = 0;

        for (size_t g = 0; g < fleet->n_guests; g++)
            if (at[g] == host)
                sum += plan_series(fleet, g)[t] * plan_unit(&fleet->guests[g]);
        n += sum > limit * (1 + 1e-6);
    }
    return n;
}

static void check_moves(const struct plan_fleet *fleet, const struct plan_moves *moves, size_t *at)
{
    for (size_t m = 0; m < moves->n; m++) {
        const struct plan_move *move = &moves->move[m];

        ck_assert(!fleet->guests[move->guest].pinned);
        ck_assert(!fleet->hosts[move->from].stale && !fleet->hosts[move->to].stale);
        ck_assert_uint_eq(at[move->guest], move->from);
        ck_assert_uint_eq(fleet->guests[move->guest].host, move->from); /* none moves twice */
        at[move->guest] = move->to;
    }
    for (size_t m = 0; m < moves->n; m++)
        ck_assert(!has_clash(fleet, at, moves->move[m].guest));
}

/* Guests of a group that were on one host still are; *parted: how many pairs are not. */
static size_t check_together(const struct plan_fleet *fleet, const size_t *before,
                             const size_t *after)
{
    size_t parted = 0;

    for (size_t a = 0; a < fleet->n_guests; a++)
        for (size_t b = 0; b < a; b++) {
            if (fleet->guests[a].together == 0 ||
                fleet->guests[a].together != fleet->guests[b].together)
                continue;
            if (before[a] == before[b])
                ck_assert_uint_eq(after[a], after[b]);
            parted += after[a] != after[b];
        }
    return parted;
}

static void check_hosts(const struct plan_fleet *fleet, const struct plan_options *options,
                        const size_t *before, const size_t *after)
{
    const size_t allowed = (size_t)(options->risk * (double)fleet->n_times);

    for (size_t h = 0; h < fleet->n_hosts; h++) {
        size_t n_before = 0;
        size_t n_after = 0;
        size_t came = 0;
        double cpus = 0;

        for (size_t g = 0; g < fleet->n_guests; g++) {
            n_before += before[g] == h;
            n_after += after[g] == h;
            came += after[g] == h && before[g] != h;
            cpus += after[g] == h ? fleet->guests[g].cpus : 0;
        }
        if (came > 0 && fleet->hosts[h].cpus > 0)
            ck_assert_double_le(cpus, fleet->hosts[h].cpus);
        if (came > 0)
            ck_assert_uint_le(times_short(fleet, after, h), allowed);
        else
            ck_assert_uint_le(times_short(fleet, after, h), times_short(fleet, before, h));
        if (n_before > 0 && n_after == 0)
            ck_assert_uint_eq(came, 0);
    }
}

/* Planned twice, on equal fleets: the plan is the same. */
static void check_plan(uint64_t seed)
{
    uint64_t random_state = seed;
    cleanup_plan_fleet struct plan_fleet fleet = random_fleet(&random_state);
    const struct plan_request request = {
        .options = {.risk = random_below(&random_state, 2) ? 0.001 : 0.05,
                    .horizon_s = 7 * DAY_S,
                    .max_moves = random_below(&random_state, 2) ? 5 : SIZE_MAX},
        .place_bytes = {8.0 * GIB, 4.0 * GIB},
        .n_place = 2,
        .consolidate = true,
    };
    cleanup_plan_result struct plan_result result;
    size_t before[64];
    size_t after[64];

    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    for (size_t g = 0; g < fleet.n_guests; g++)
        before[g] = after[g] = fleet.guests[g].host;
    ck_assert_uint_le(result.moves.n, request.options.max_moves);
    ck_assert_uint_le(result.short_after, result.short_before);
    check_moves(&fleet, &result.moves, after);
    check_hosts(&fleet, &request.options, before, after);
    ck_assert_uint_le(check_together(&fleet, before, after),
                      check_together(&fleet, before, before));
    for (size_t h = 0; h < fleet.n_hosts; h++) {
        ck_assert_double_ge(result.hosts[h].planned_bytes, 0);
        ck_assert_double_ge(result.hosts[h].swap_bytes, 0);
        ck_assert_uint_le(result.hosts[h].fails.guests, result.hosts[h].n_guests);
    }
}

TEST(cases, plans_hold_what_they_must)
{
    for (uint64_t seed = 0; seed < 60; seed++)
        check_plan(seed);
}

/* All need all of their RAM, and are as many as fit; then one goes to another host, and back. */
TEST_EACH(cases, guests_that_fill_a_host_exactly_do_not_make_it_short, 1, 30)
{
    const uint64_t ram_bytes = GIB / 4 * ((uint64_t)_i % 7 + 1);
    const size_t n = (size_t)_i + 1;
    const struct plan_request request = {.options = bare};
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet_by(600, 2, n, 15);
    cleanup_plan_fleet struct plan_fleet again = make_fleet_by(600, 2, n, 15);
    cleanup_plan_result struct plan_result result;
    struct plan_state state;

    for (size_t g = 0; g < n; g++) {
        fleet.guests[g].ram_bytes = again.guests[g].ram_bytes = ram_bytes;
        fleet.guests[g].host = again.guests[g].host = 0;
        note_all(&fleet, g, (double)ram_bytes / (double)GIB);
        note_all(&again, g, (double)ram_bytes / (double)GIB);
    }
    fleet.hosts[0].capacity_bytes = again.hosts[0].capacity_bytes = n * ram_bytes;
    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    ck_assert_double_eq(result.hosts[0].need.short_share, 0);
    ck_assert_uint_eq(result.short_before, 0);
    state = prepare(&again, &bare);
    for (size_t g = 0; g < n; g++) {
        plan_move_guest(&state, g, 1);
        plan_move_guest(&state, g, 0);
        ck_assert(plan_load_holds(&state, &state.loads[0]));
    }
    plan_state_free(&state);
}

/* --- all at once: --drain, --empty, --spare, guests that have ended, hosts that are partly known
 */

/* Also guests that have ended, on some hosts, and hosts that are drained or partly known. */
static struct plan_fleet fleet_of_all(uint64_t *random_state, bool drains)
{
    struct plan_fleet fleet = random_fleet(random_state);
    const size_t n = random_below(random_state, 4);

    ck_assert_int_eq(plan_ended_make(&fleet, n), 0);
    for (size_t e = 0; e < n; e++) {
        const size_t host = random_below(random_state, fleet.n_hosts);
        const double from_s = fleet.from_s + (double)random_below(random_state, 6) * DAY_S;

        ck_assert_int_eq(plan_ended_span(&fleet, e, host, from_s, from_s + DAY_S), 0);
        plan_note(&fleet, fleet.n_guests + e, from_s, DAY_S,
                  (double)random_below(random_state, 12) * GIB);
    }
    ck_assert_int_eq(plan_past_sum(&fleet), 0);
    for (size_t h = 0; h < fleet.n_hosts; h++) {
        fleet.hosts[h].capacity_bytes *= 1 + random_below(random_state, 2);
        fleet.hosts[h].partial = random_below(random_state, 12) == 0;
        fleet.hosts[h].drain = drains && random_below(random_state, 4) == 0;
    }
    return fleet;
}

/* The plan is carried out, move by move: no host is short on the way that was not before, and no
 * guest comes to one that is drained, stale or partly known. */
static void carry_out(struct plan_fleet *fleet, const struct plan_request *request,
                      const struct plan_moves *moves)
{
    struct plan_state state = prepare(fleet, &request->options);
    const size_t n = moves->n;

    ck_assert_uint_le(n, fleet->n_guests);
    for (size_t m = 0; m < n; m++) {
        const struct plan_move *move = &moves->move[m];

        for (size_t other = 0; other < m; other++)
            ck_assert_uint_ne(moves->move[other].guest, move->guest);
        ck_assert_uint_eq(fleet->guests[move->guest].host, move->from);
        ck_assert(!fleet->guests[move->guest].pinned);
        ck_assert(!fleet->hosts[move->to].drain && !plan_is_fixed(&fleet->hosts[move->to]));
        ck_assert(!plan_is_fixed(&fleet->hosts[move->from]));
        if (state.at[move->guest] == move->from) /* not yet, with others of its unit */
            plan_move_guest(&state, state.unit[move->guest].leader, move->to);
        ck_assert_uint_eq(state.at[move->guest], move->to);
        ck_assert(plan_load_holds(&state, &state.loads[move->to]));
    }
    plan_state_free(&state);
}

/* A plan says of the time after its moves what a plan of that time says of it; but which
 * of a host's guests are there in place of those that have ended is known only until they move. */
static void check_after(const struct plan_fleet *fleet, const struct plan_result *result,
                        const struct plan_result *then)
{
    bool has_past = false;

    for (size_t h = 0; h < fleet->n_hosts; h++)
        has_past |= fleet->past[h].n_guests > 0;
    if (!has_past)
        ck_assert_uint_eq(result->short_after, then->short_before);
    if (!has_past && result->spared_after)
        ck_assert(then->spared_before);
    for (size_t h = 0; h < fleet->n_hosts; h++) {
        const struct plan_host_result *said = &result->hosts[h];
        const struct plan_host_result *is = &then->hosts[h];

        ck_assert_uint_eq(said->n_guests_after, is->n_guests);
        ck_assert_uint_eq(said->together_after, is->together);
        ck_assert_uint_eq(said->parted_after, is->parted);
        ck_assert_double_eq_tol(said->cpus_after, is->cpus, 1e-6);
    }
}

TEST_EACH(cases, a_plan_of_all_at_once_is_right_when_it_is_carried_out, 0, 200)
{
    const uint64_t seed = (uint64_t)_i + 2000;
    uint64_t states[] = {seed, seed, seed};
    const bool drains = _i % 4 != 0;
    bool only_emptied = true;
    cleanup_plan_fleet struct plan_fleet fleet = fleet_of_all(&states[0], drains);
    cleanup_plan_fleet struct plan_fleet way = fleet_of_all(&states[1], drains);
    cleanup_plan_fleet struct plan_fleet after = fleet_of_all(&states[2], drains);
    const struct plan_request request = {.options = {.risk = 0.01,
                                                     .horizon_s = 7 * DAY_S,
                                                     .max_moves = _i % 3 ? SIZE_MAX : 6,
                                                     .running_only = _i % 5 == 0,
                                                     .spare = (size_t)_i % 3},
                                         .drain = drains,
                                         .consolidate = _i % 7 != 0};
    cleanup_plan_result struct plan_result result;
    cleanup_plan_result struct plan_result then;

    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    carry_out(&way, &request, &result.moves);
    for (size_t m = 0; m < result.moves.n; m++)
        after.guests[result.moves.move[m].guest].host = result.moves.move[m].to;
    ck_assert_int_eq(plan_make(&after, &request, &then), 0);
    check_after(&fleet, &result, &then);
    for (size_t m = 0; m < result.moves.n; m++)
        only_emptied &= result.moves.move[m].why == PLAN_EMPTY;
    if (!drains && result.spared_before && only_emptied)
        ck_assert(result.spared_after);
    if (!drains && !result.spared_after)
        ck_assert_uint_eq(result.emptied, 0);
}

/* Four hosts of a sixteenth full: one is enough. With two moves one of them can be emptied. */
TEST(cases, hosts_are_emptied)
{
    for (size_t max = 2; max <= 6; max += 4) {
        struct plan_fleet fleet = make_fleet(4, 8, 15);
        struct plan_request request = {.options = bare, .consolidate = true};
        struct plan_result result;

        request.options.max_moves = max;
        for (size_t g = 0; g < 8; g++)
            note_all(&fleet, g, 2);
        ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
        ck_assert_uint_eq(result.emptied, max / 2);
        ck_assert_uint_eq(result.moves.n, max);
        ck_assert_uint_eq(result.hosts[0].fails.guests, 0);
        plan_result_free(&result);
        plan_fleet_free(&fleet);
    }
}

/* Hosts of 64 GiB with guests of a need of 7: nine fit. */
static void plan_spared(size_t n_hosts, size_t n_guests, size_t spare, struct plan_fleet *fleet,
                        struct plan_result *result)
{
    struct plan_request request = {.options = bare, .consolidate = true};

    *fleet = make_fleet(n_hosts, n_guests, 15);
    request.options.spare = spare;
    for (size_t g = 0; g < n_guests; g++)
        note_all(fleet, g, 7);
    ck_assert_int_eq(plan_make(fleet, &request, result), 0);
}

/* Three hosts of four guests each, of which two hosts are enough, but no host may fail then. */
TEST(cases, what_a_failed_host_loses_is_told_for_after_the_moves)
{
    cleanup_plan_fleet struct plan_fleet fleet;
    cleanup_plan_result struct plan_result result;
    size_t down = 0;

    plan_spared(3, 12, 0, &fleet, &result);
    ck_assert_uint_eq(result.emptied, 1);
    for (size_t h = 0; h < 3; h++) {
        ck_assert_uint_eq(result.hosts[h].fails.guests, 0);
        down += result.hosts[h].fails_after.guests;
        if (result.hosts[h].n_guests_after == 0)
            ck_assert_uint_eq(result.hosts[h].fails_after.guests, 0);
    }
    /* 5 of 8 guests fit beside 4, and 1 of 4 beside 8. */
    ck_assert_uint_eq(down, 6);
}

/* Three hosts, of which one may fail: also with a new guest of 40 GiB, which needs 35, but not with
 * two of them. */
TEST_EACH(cases, a_host_to_spare_is_not_one_for_new_guests, 1, 3)
{
    struct plan_request request = {
        .options = bare, .place_bytes = {40.0 * GIB, 40.0 * GIB}, .n_place = (size_t)_i};
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet(3, 12, 15);
    cleanup_plan_result struct plan_result result;

    request.options.spare = 1;
    for (size_t g = 0; g < 12; g++)
        note_all(&fleet, g, 7);
    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    for (int i = 0; i < _i; i++)
        ck_assert_uint_ne(result.place[i], PLAN_NOWHERE);
    ck_assert(result.spared_before && result.spared_after);
    ck_assert_int_eq(result.spared_with_new, _i == 1);
}

/* --- drains and guests that must be apart ----------------------------------------------------- */

/* Five hosts of eight guests each, which need 1 to 7 GiB for a tenth of the time, and 1 else. */
static struct plan_fleet make_drained(uint64_t seed, size_t host)
{
    struct plan_fleet fleet = make_fleet_by(600, 5, 40, 15);

    for (size_t g = 0; g < fleet.n_guests; g++) {
        note_all(&fleet, g, 1);
        for (unsigned i = 0; i < 36; i++)
            plan_note(&fleet, g, MONDAY_S + (double)random_below(&seed, 15 * 1440) * 60, 3600,
                      (double)(GIB + random_below(&seed, 6 * GIB)));
    }
    fleet.hosts[host].drain = true;
    return fleet;
}

static const struct plan_options cautious = {
    .risk = 0.001, .horizon_s = 14 * DAY_S, .max_moves = SIZE_MAX};

/* The moves one after the other: no host is short on the way. */
static void check_order(struct plan_fleet *fleet, const struct plan_moves *moves)
{
    struct plan_state state = prepare(fleet, &cautious);

    for (size_t m = 0; m < moves->n; m++) {
        plan_move_guest(&state, moves->move[m].guest, moves->move[m].to);
        ck_assert(plan_load_holds(&state, &state.loads[moves->move[m].to]));
        ck_assert_int_eq(moves->move[m].why, PLAN_DRAIN);
    }
    plan_state_free(&state);
}

/* The drain is carried out, and the fleet is planned again. */
TEST_EACH(cases, a_host_is_drained, 0, 10)
{
    const size_t host = (size_t)_i % 5;
    const struct plan_request request = {.options = cautious, .drain = true};
    cleanup_plan_fleet struct plan_fleet fleet = make_drained((uint64_t)_i + 1, host);
    cleanup_plan_fleet struct plan_fleet after = make_drained((uint64_t)_i + 1, host);
    cleanup_plan_fleet struct plan_fleet again = make_drained((uint64_t)_i + 1, host);
    cleanup_plan_result struct plan_result result;
    cleanup_plan_result struct plan_result done;

    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    ck_assert_uint_eq(result.hosts[host].n_guests_after, 0);
    ck_assert_uint_eq(result.moves.n, 8);
    ck_assert_uint_eq(result.short_after, 0);
    for (size_t m = 1; m < result.moves.n; m++)
        ck_assert_uint_eq(result.moves.move[m].from, host);
    check_order(&again, &result.moves);
    for (size_t m = 0; m < result.moves.n; m++)
        after.guests[result.moves.move[m].guest].host = result.moves.move[m].to;
    ck_assert_int_eq(plan_make(&after, &request, &done), 0);
    ck_assert_uint_eq(done.moves.n, 0);
    ck_assert_uint_eq(done.short_before, 0);
    for (size_t h = 0; h < 5; h++) {
        ck_assert_uint_eq(done.hosts[h].n_guests, result.hosts[h].n_guests_after);
        ck_assert_double_eq_tol(done.hosts[h].planned_bytes, result.hosts[h].planned_after_bytes,
                                0.001 * GIB);
    }
}

/* Two hosts full of guests; one guest is pinned. */
TEST(cases, what_has_no_room_stays_on_a_host_that_is_drained)
{
    const struct plan_request request = {.options = bare, .drain = true};
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet(2, 16, 15);
    cleanup_plan_result struct plan_result result;

    for (size_t g = 0; g < 16; g++)
        note_all(&fleet, g, 7);
    fleet.guests[0].pinned = true;
    fleet.hosts[0].drain = true;
    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    ck_assert_uint_eq(result.moves.n, 1); /* nine of 7 GiB fit */
    ck_assert_uint_eq(result.hosts[0].n_guests_after, 7);
    ck_assert_uint_eq(result.short_after, 0);
}

/* Three guests of host 0 must be apart, of which one is pinned; two other hosts have room. */
TEST(cases, guests_that_are_together_and_must_not_be_are_separated)
{
    const struct plan_request request = {.options = bare, .consolidate = true};
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet(3, 6, 15);
    cleanup_plan_result struct plan_result result;

    for (size_t g = 0; g < 6; g++) {
        note_all(&fleet, g, 7);
        fleet.guests[g].host = g < 3 ? 0 : g % 2 + 1;
        fleet.guests[g].apart = g < 3;
    }
    fleet.guests[1].pinned = true;
    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    ck_assert_uint_eq(result.hosts[0].together, 2);
    ck_assert_uint_eq(result.hosts[0].together_after, 0);
    ck_assert_uint_ge(result.moves.n, 2);
    for (size_t m = 0; m < 2; m++) {
        ck_assert_int_eq(result.moves.move[m].why, PLAN_SEPARATE);
        ck_assert_uint_ne(result.moves.move[m].guest, 1);
    }
    ck_assert_uint_ne(result.moves.move[0].to, result.moves.move[1].to);
}

/* Guests 0 and 1 of two hosts, of which the second has room for both, and a third host for one. */
static struct plan_fleet make_group(void)
{
    struct plan_fleet fleet = make_fleet(3, 6, 15);
    static const double gib[] = {30, 20, 30, 30, 10, 1};

    for (size_t g = 0; g < 6; g++) {
        fleet.guests[g].ram_bytes = 32 * GIB;
        note_all(&fleet, g, gib[g]);
    }
    fleet.guests[0].together = fleet.guests[1].together = 1;
    return fleet;
}

TEST(cases, guests_that_belong_together_are_joined)
{
    struct plan_request request = {.options = bare, .consolidate = true};
    cleanup_plan_fleet struct plan_fleet fleet = make_group();
    cleanup_plan_result struct plan_result result;

    request.options.max_moves = 1;
    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    ck_assert_uint_eq(result.moves.n, 1);
    ck_assert_int_eq(result.moves.move[0].why, PLAN_JOIN);
    ck_assert_uint_eq(result.moves.move[0].guest, 0);
    ck_assert_uint_eq(result.moves.move[0].to, 1);
    ck_assert(result.hosts[0].parted == 1 && result.hosts[1].parted == 1);
    ck_assert(result.hosts[0].parted_after == 0 && result.hosts[1].parted_after == 0);
}

/* Alone, each of them finds a place when host 1 fails; together they do not. They are drained
 * together, or not at all. */
TEST_EACH(cases, guests_that_belong_together_fall_and_are_drained_together, 0, 2)
{
    struct plan_request request = {.options = bare, .drain = true};
    cleanup_plan_fleet struct plan_fleet fleet = make_group();
    cleanup_plan_result struct plan_result result;

    fleet.guests[0].host = 1;
    fleet.guests[4].host = 2;
    fleet.guests[0].together = fleet.guests[1].together = (size_t)_i;
    fleet.hosts[1].drain = true;
    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    ck_assert_uint_eq(result.hosts[1].n_guests, 2);
    ck_assert_uint_eq(result.hosts[1].fails.guests, 2 * (size_t)_i);
    ck_assert_uint_eq(result.moves.n, _i ? 0 : 2);
}

/* Hosts, guests, how many are spared, and how many hosts are emptied then; whether so many could
 * fail before. */
static const struct {
    size_t n_hosts, n_guests, spare, emptied;
    bool before, after;
} spared[] = {
    {3, 12, 0, 1, true, true},   {3, 12, 1, 0, true, true},   {3, 12, 2, 0, false, false},
    {4, 12, 1, 1, true, true},   {4, 12, 2, 0, true, true},   {2, 18, 1, 0, false, false},
    {2, 12, 1, 0, false, false}, {20, 80, 1, 10, true, true}, {20, 80, 2, 9, true, true},
    {20, 80, 0, 11, true, true}, {1, 4, 1, 0, false, false},
};

TEST_EACH(cases, hosts_to_spare_are_kept, 0, COUNT(spared))
{
    cleanup_plan_fleet struct plan_fleet fleet;
    cleanup_plan_result struct plan_result result;

    plan_spared(spared[_i].n_hosts, spared[_i].n_guests, spared[_i].spare, &fleet, &result);
    ck_assert_uint_eq(result.emptied, spared[_i].emptied);
    ck_assert_int_eq(result.spared_before, spared[_i].before);
    ck_assert_int_eq(result.spared_after, spared[_i].after);
    for (size_t h = 0; h < fleet.n_hosts && spared[_i].spare > 0 && spared[_i].after; h++)
        ck_assert_uint_eq(result.hosts[h].fails_after.guests, 0);
}

/* A drain of three moves, where one is allowed: no host is emptied besides. */
TEST(cases, a_drain_leaves_no_moves_to_empty_hosts)
{
    struct plan_request request = {.options = bare, .consolidate = true, .drain = true};
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet(4, 12, 15);
    cleanup_plan_result struct plan_result result;

    request.options.max_moves = 1;
    fleet.hosts[0].drain = true;
    for (size_t g = 0; g < 12; g++)
        note_all(&fleet, g, 2);
    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    ck_assert_uint_eq(result.moves.n, 3);
    ck_assert_uint_eq(result.emptied, 1);
}

/* On host 0 two guests that have ended needed 20 GiB each for twelve hours of each of 20 days. Its
 * own guest needs 2, that of host 1 @p other. */
static struct plan_fleet make_office(double other)
{
    struct plan_fleet fleet = make_fleet(2, 2, 20);

    fleet.guests[1].ram_bytes = 64 * GIB;
    note_all(&fleet, 0, 2);
    note_all(&fleet, 1, other);
    ck_assert_int_eq(plan_ended_make(&fleet, 2), 0);
    for (size_t e = 0; e < 2; e++) {
        ck_assert_int_eq(plan_ended_span(&fleet, e, 0, MONDAY_S, MONDAY_S + 20 * DAY_S), 0);
        for (unsigned d = 0; d < 20; d++)
            plan_note(&fleet, 2 + e, MONDAY_S + (d + 0.25) * DAY_S, 12 * 3600, 20.0 * GIB);
    }
    ck_assert_int_eq(plan_past_sum(&fleet), 0);
    return fleet;
}

static struct plan_result plan_office(struct plan_fleet *fleet, bool running_only)
{
    struct plan_request request = {.options = bare, .consolidate = true};
    struct plan_result result;

    request.options.running_only = running_only;
    ck_assert_int_eq(plan_make(fleet, &request, &result), 0);
    return result;
}

TEST(cases, guests_that_have_ended_count_on_their_host)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_office(30);
    cleanup_plan_result struct plan_result result = plan_office(&fleet, false);

    ck_assert_uint_eq(fleet.past[0].n_guests, 2);
    ck_assert_double_eq_tol(fleet.past[0].max_bytes, 40.0 * GIB, 0.01 * GIB);
    ck_assert_double_eq_tol(fleet.past[0].days, 19.75, 0.01);
    ck_assert_double_eq_tol(result.hosts[0].need.p50_bytes, 2.0 * GIB, 0.3 * GIB);
    ck_assert_double_eq_tol(result.hosts[0].need.p99_bytes, 42.0 * GIB, 0.5 * GIB);
    ck_assert_double_eq_tol(result.hosts[0].planned_bytes, 42.0 * GIB, 0.5 * GIB);
    ck_assert_uint_eq(result.hosts[0].n_guests, 1);
    ck_assert_double_eq(result.hosts[0].ram_bytes, 8.0 * GIB);
    ck_assert_uint_eq(fleet.past[1].n_guests, 0);
    /* 42 and 30 are more than one host has; the other guest finds a place beside them. */
    ck_assert_uint_eq(result.emptied, 0);
}

/* The other host has room for them or not: if host 0 fails, and if it is drained. */
TEST_EACH(cases, guests_that_have_ended_need_room_elsewhere, 0, 4)
{
    const bool fits = _i & 1;
    struct plan_request request = {.options = bare, .drain = _i & 2};
    cleanup_plan_fleet struct plan_fleet fleet = make_office(fits ? 4 : 30);
    cleanup_plan_result struct plan_result result;

    request.options.spare = 1;
    fleet.hosts[0].drain = _i & 2;
    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    ck_assert_uint_eq(result.hosts[0].fails.guests, 0);
    ck_assert_int_eq(result.hosts[0].fails.past, !fits);
    ck_assert_int_eq(result.spared_before, fits);
    ck_assert_uint_eq(result.hosts[0].past_at, fits && request.drain);
}

TEST(cases, a_host_is_emptied_if_another_has_room_for_those_that_have_ended)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_office(4);
    cleanup_plan_result struct plan_result result = plan_office(&fleet, false);
    const size_t from = result.moves.n > 0 ? result.moves.move[0].from : 1;

    ck_assert_uint_eq(result.emptied, 1);
    ck_assert_uint_eq(result.moves.n, 1);
    ck_assert_uint_eq(result.hosts[0].past_at, from == 0 ? 1 : 0);
    ck_assert_double_eq_tol(result.hosts[1 - from].planned_after_bytes, 46.0 * GIB, 0.5 * GIB);
    ck_assert_double_eq(result.hosts[from].planned_after_bytes, 0);
}

TEST(cases, guests_that_have_ended_are_left_out_on_request)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_office(30);
    cleanup_plan_result struct plan_result result = plan_office(&fleet, true);

    ck_assert_uint_eq(fleet.past[0].n_guests, 2);
    ck_assert_double_eq_tol(result.hosts[0].need.p99_bytes, 2.0 * GIB, 0.1 * GIB);
    ck_assert_double_eq_tol(result.hosts[0].planned_bytes, 2.0 * GIB, 0.1 * GIB);
    ck_assert_uint_eq(result.emptied, 1);
}

/* Each night another guest: tonight's is the successor of those before, and not a second one. */
TEST(cases, a_successor_does_not_count_beside_the_one_before)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet(1, 1, 20);
    cleanup_plan_result struct plan_result result;

    plan_note(&fleet, 0, MONDAY_S + 19.5 * DAY_S, 0.5 * DAY_S, 6.0 * GIB);
    ck_assert_int_eq(plan_ended_make(&fleet, 19), 0);
    for (size_t e = 0; e < 19; e++) {
        const double from_s = MONDAY_S + ((double)e + 0.5) * DAY_S;

        ck_assert_int_eq(plan_ended_span(&fleet, e, 0, from_s, from_s + DAY_S / 2), 0);
        plan_note(&fleet, 1 + e, from_s, DAY_S / 2, 6.5 * GIB);
    }
    ck_assert_int_eq(plan_past_sum(&fleet), 0);
    result = plan_office(&fleet, false);
    ck_assert_uint_eq(fleet.past[0].n_guests, 19);
    ck_assert_double_eq_tol(result.hosts[0].need.max_bytes, 6.5 * GIB, 0.2 * GIB);
    ck_assert_double_ge(result.hosts[0].need.max_bytes, 6.5 * GIB);
}

/* A host is known for the last two of 28 days, or one of its guests is: off at night, and when the
 * plan is made. It needed as much in the weeks before, as far as anybody knows. */
TEST_EACH(cases, before_the_first_record_of_those_that_have_ended_their_need_is_not_known, 0, 2)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet(2, 2, 28);
    const double first_s = MONDAY_S + 26 * DAY_S;

    fleet.guests[0].ram_bytes = 64 * GIB;
    fleet.guests[0].host = 1;
    note_all(&fleet, 0, 1);
    plan_note(&fleet, 1, _i == 0 ? first_s : MONDAY_S, 28 * DAY_S, 2.0 * GIB);
    fleet.guests[1].host = 0;
    ck_assert_int_eq(plan_ended_make(&fleet, 1), 0);
    ck_assert_int_eq(plan_ended_span(&fleet, 0, 0, first_s, first_s + 2 * DAY_S), 0);
    for (unsigned d = 0; d < 2; d++)
        plan_note(&fleet, 2, first_s + (d + 0.25) * DAY_S, 12 * 3600, 20.0 * GIB);
    ck_assert_int_eq(plan_past_sum(&fleet), 0);
    ck_assert_int_eq(plan_profile(&fleet), 0);
    for (unsigned d = 0; d < 28; d++) {
        const size_t noon = (size_t)((d + 0.5) * DAY_S / fleet.step_s);
        const size_t midnight = (size_t)(d * DAY_S / fleet.step_s);

        ck_assert_uint_eq(plan_past_series(&fleet, 0)[noon], PLAN_CODE_MAX);
        ck_assert_uint_eq(plan_past_series(&fleet, 0)[midnight], 0);
    }
}

static size_t moves_if_partial(bool first, bool second)
{
    struct plan_fleet fleet = make_fleet(2, 2, 20);
    const struct plan_request request = {.options = bare, .consolidate = true};
    struct plan_result result;
    size_t n;

    note_all(&fleet, 0, 2);
    note_all(&fleet, 1, 3);
    fleet.hosts[0].partial = first;
    fleet.hosts[1].partial = second;
    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    n = result.moves.n;
    plan_result_free(&result);
    plan_fleet_free(&fleet);
    return n;
}

TEST(cases, nothing_is_moved_from_or_to_a_host_that_is_partly_known)
{
    ck_assert_uint_eq(moves_if_partial(false, false), 1);
    ck_assert_uint_eq(moves_if_partial(true, false), 0);
    ck_assert_uint_eq(moves_if_partial(false, true), 0);
}

/* One guest too many: the smallest that suffices is moved, to an empty host if need be. */
TEST(cases, a_host_that_is_short_is_relieved)
{
    cleanup_plan_fleet struct plan_fleet fleet = make_fleet(2, 10, 15);
    struct plan_request request = {.options = bare, .consolidate = true};
    cleanup_plan_result struct plan_result result;

    for (size_t g = 0; g < 10; g++) {
        fleet.guests[g].host = 0;
        note_all(&fleet, g, g == 0 ? 2 : 7);
    }
    fleet.hosts[0].capacity_bytes = 64 * GIB;
    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
    ck_assert_uint_eq(result.short_before, 1);
    ck_assert_uint_eq(result.short_after, 0);
    ck_assert_uint_eq(result.moves.n, 1);
    ck_assert_uint_eq(result.moves.move[0].guest, 0);
    ck_assert_double_eq_tol(result.hosts[0].swap_bytes, 16.0 * GIB, 1);
    ck_assert_uint_gt(result.hosts[0].fails.guests, 0);
}
