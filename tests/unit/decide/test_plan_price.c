// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_plan_price.c  What moves of a plan cost: what guests write by the hour of the week,
 * the forecast of their migrations, moves that cannot be made, and the order of the others. */
#include "decide/plan/plan.h"
#include "decide/plan/writes.h"
#include "measure/record/sample_record.h"

#include "unit.h"

#include <math.h>
#include <stdlib.h>

#define MIB 1048576.0
#define GIB (1ULL << 30)
#define HOUR_S 3600.0
#define DAY_S 86400.0
#define MONDAY_S (4 * DAY_S) /* 1970-01-05 */
#define SUNDAY_3 (6 * 24 + 3)

static struct plan_fleet fleet;
static struct plan_result result;

/* Three hosts with room for everything. All guests are on the first one, which is to be empty. */
static void make(size_t n_guests)
{
    ck_assert_int_eq(plan_fleet_make(&fleet, 3, n_guests, MONDAY_S, MONDAY_S + 21 * DAY_S, 3600),
                     0);
    for (size_t h = 0; h < fleet.n_hosts; h++)
        fleet.hosts[h].capacity_bytes = 256 * GIB;
    fleet.hosts[0].drain = true;
    for (size_t g = 0; g < n_guests; g++) {
        fleet.guests[g].ram_bytes = 4 * GIB;
        fleet.guests[g].cpus = NAN;
        plan_note(&fleet, g, MONDAY_S, 21 * DAY_S, 1.0 * GIB);
    }
}

static void teardown(void)
{
    if (result.hosts)
        plan_result_free(&result);
    plan_fleet_free(&fleet);
}

FIXTURE(cases, .teardown = teardown, .timeout_s = 60);

/* New pages all the time, with bounds of a tenth. */
static struct write_curve steady(double bytes_s)
{
    struct write_curve curve = {.n = 3};

    for (size_t i = 0; i < curve.n; i++) {
        const double window_s = pow(10, (double)i - 1), bytes = bytes_s * window_s;

        curve.points[i] = (struct write_point){window_s, window_s, (uint64_t)bytes,
                                               (uint64_t)(0.9 * bytes), (uint64_t)(1.1 * bytes)};
    }
    return curve;
}

static struct plan_writes *writes_of(size_t guest)
{
    if (!fleet.writes[guest]) {
        fleet.writes[guest] = calloc(1, sizeof(*fleet.writes[guest]));
        ck_assert_ptr_nonnull(fleet.writes[guest]);
        fleet.writes[guest]->resident_bytes = GIB;
        fleet.writes[guest]->kvm = true;
    }
    return fleet.writes[guest];
}

/* Adds a curve to each hour of a week; to one of them another one. */
static void note_writes(size_t guest, double mib_s, unsigned hour, double mib_s_then)
{
    const struct write_curve curve = steady(mib_s * MIB), other = steady(mib_s_then * MIB);

    for (unsigned h = 0; h < PLAN_WEEK_HOURS; h++)
        plan_writes_add(writes_of(guest), MONDAY_S + h * HOUR_S + 600, h == hour ? &other : &curve);
}

static const struct plan_price *price_of(size_t guest)
{
    const struct migrate_terms terms = MIGRATE_TERMS_DEFAULT;

    ck_assert_int_eq(plan_price_guests(&fleet, &terms), 0);
    return plan_price_of(&fleet, guest);
}

static void plan(void)
{
    const struct plan_request request = {
        .options = {.risk = 0.001, .max_moves = SIZE_MAX},
        .drain = true,
        .terms = MIGRATE_TERMS_DEFAULT,
    };

    ck_assert_int_eq(plan_make(&fleet, &request, &result), 0);
}

/* --- what guests write ------------------------------------------------------------------------ */

TEST(cases, hours_of_the_week_begin_on_monday)
{
    ck_assert_uint_eq(plan_week_hour(MONDAY_S), 0);
    ck_assert_uint_eq(plan_week_hour(MONDAY_S - 1), PLAN_WEEK_HOURS - 1);
    ck_assert_uint_eq(plan_week_hour(MONDAY_S + 6 * DAY_S + 3 * HOUR_S), SUNDAY_3);
    ck_assert_uint_eq(plan_week_hour(0), 3 * 24);               /* a Thursday */
    ck_assert_uint_eq(plan_week_hour(1700002800), 1 * 24 + 23); /* Tuesday 2023-11-14 23:00 */
}

TEST(cases, bounds_of_an_hour_hold_every_curve_of_it)
{
    struct plan_writes *writes;
    const struct write_curve less = steady(10 * MIB), more = steady(30 * MIB);
    struct write_curve curve;

    make(1);
    writes = writes_of(0);
    plan_writes_add(writes, MONDAY_S, &less);
    plan_writes_add(writes, MONDAY_S + 7 * DAY_S + 1800, &more);
    plan_writes_add(writes, MONDAY_S + HOUR_S, &more);
    curve = plan_writes_at(writes, 0);
    ck_assert_uint_eq(curve.n, 3);
    ck_assert_double_eq_tol(curve.points[1].window_s, 1, 1e-6);
    ck_assert_double_eq_tol((double)curve.points[1].bytes, 20 * MIB, 64);
    ck_assert_double_eq_tol((double)curve.points[1].low_bytes, 9 * MIB, 64);
    ck_assert_double_eq_tol((double)curve.points[1].high_bytes, 33 * MIB, 64);
    ck_assert_uint_eq(plan_writes_count(writes, 0), 2);
    ck_assert_double_eq_tol((double)plan_writes_at(writes, 1).points[1].low_bytes, 27 * MIB, 64);
    ck_assert_uint_eq(plan_writes_at(writes, 2).n, 0);
    ck_assert_double_eq_tol((double)plan_writes_at(writes, PLAN_ANY_HOUR).points[1].bytes,
                            70 * MIB / 3, 64);
    ck_assert_uint_eq(plan_writes_count(writes, PLAN_ANY_HOUR), 3);
}

/* The DMA of its devices is not seen. */
TEST(cases, a_guest_with_devices_of_the_host_never_surely_converges)
{
    struct write_curve curve = steady(1 * MIB);

    make(1);
    plan_writes_add(writes_of(0), MONDAY_S, &curve);
    ck_assert(price_of(0)->verdict == MIGRATE_CONVERGES);
    curve.flags = FLAG_VFIO;
    plan_writes_add(writes_of(0), MONDAY_S + HOUR_S, &curve);
    ck_assert(price_of(0)->verdict == MIGRATE_MAY_CONVERGE);
}

/* The windows of vmwssd were changed in between. */
TEST(cases, windows_that_come_later_are_in_their_place)
{
    const struct write_curve before = steady(10 * MIB);
    const struct write_curve after = {.n = 2,
                                      .points = {{0.5, 0.5, 5 << 20, 5 << 20, 5 << 20},
                                                 {10, 10, 100 << 20, 100 << 20, 100 << 20}}};
    struct write_curve curve;

    make(1);
    plan_writes_add(writes_of(0), MONDAY_S, &before);
    plan_writes_add(writes_of(0), MONDAY_S, &after);
    curve = plan_writes_at(writes_of(0), 0);
    ck_assert_uint_eq(curve.n, 4);
    for (size_t i = 1; i < curve.n; i++)
        ck_assert(curve.points[i].window_s > curve.points[i - 1].window_s);
}

/* --- prices ----------------------------------------------------------------------------------- */

TEST(cases, a_guest_whose_writes_are_not_known_has_no_price_and_moves)
{
    make(1);
    plan();
    ck_assert_ptr_null(plan_price_of(&fleet, 0));
    ck_assert_uint_eq(result.moves.n, 1);
}

/* 1 GiB at 128 MiB/s, and 3 GiB of zeroes at 4 GB/s. */
TEST(cases, one_that_always_converges_may_move_at_any_hour)
{
    const struct plan_price *price;

    make(1);
    note_writes(0, 1, 5, 2);
    plan();
    price = plan_price_of(&fleet, 0);
    ck_assert_ptr_nonnull(price);
    ck_assert_int_eq(price->verdict, MIGRATE_CONVERGES);
    ck_assert_uint_eq(price->hour, PLAN_ANY_HOUR);
    ck_assert_uint_eq(price->n_curves, PLAN_WEEK_HOURS);
    ck_assert_double_eq_tol(price->total_s.value, 9, 1);
    ck_assert(price->total_s.low < price->total_s.value);
    ck_assert(price->total_s.high > price->total_s.value);
    ck_assert_double_eq_tol(price->sent_bytes.value, (double)GIB, 0.1 * (double)GIB);
    ck_assert_uint_eq(result.moves.n, 1);
}

TEST(cases, one_that_converges_in_one_hour_moves_then)
{
    const struct plan_price *price;

    make(1);
    note_writes(0, 500, SUNDAY_3, 5);
    plan();
    price = plan_price_of(&fleet, 0);
    ck_assert_ptr_nonnull(price);
    ck_assert_int_eq(price->verdict, MIGRATE_CONVERGES);
    ck_assert_uint_eq(price->hour, SUNDAY_3);
    ck_assert_uint_eq(price->n_curves, 1);
    ck_assert_double_eq_tol(price->total_s.value, 9, 1);
    ck_assert_uint_eq(result.moves.n, 1);
}

TEST(cases, one_that_converges_at_no_hour_stays)
{
    make(2);
    note_writes(0, 500, 0, 400);
    note_writes(1, 1, 0, 1);
    plan();
    ck_assert(plan_is_stuck(&fleet, 0));
    ck_assert(isnan(plan_price_of(&fleet, 0)->total_s.value));
    ck_assert_double_gt(plan_price_of(&fleet, 0)->enough_bandwidth_bytes_s.value, 128 * MIB);
    ck_assert(!plan_is_stuck(&fleet, 1));
    ck_assert_uint_eq(result.moves.n, 1);
    ck_assert_uint_eq(result.moves.move[0].guest, 1);
    ck_assert_uint_eq(result.hosts[0].n_guests_after, 1);
}

/* Nor do those that belong together with it. */
TEST(cases, its_companions_stay_with_it)
{
    make(3);
    note_writes(2, 500, 0, 400);
    fleet.guests[1].together = fleet.guests[2].together = 1;
    plan();
    ck_assert_uint_eq(result.moves.n, 1);
    ck_assert_uint_eq(result.moves.move[0].guest, 0);
}

TEST(cases, a_faster_connection_moves_it)
{
    struct migrate_terms terms = MIGRATE_TERMS_DEFAULT;

    make(1);
    note_writes(0, 500, 0, 400);
    ck_assert_int_eq(price_of(0)->verdict, MIGRATE_DIVERGES);
    terms.bandwidth_bytes_s = 10 * price_of(0)->enough_bandwidth_bytes_s.high;
    ck_assert_int_eq(plan_price_guests(&fleet, &terms), 0);
    ck_assert_int_eq(plan_price_of(&fleet, 0)->verdict, MIGRATE_CONVERGES);
    ck_assert_uint_eq(plan_price_of(&fleet, 0)->hour, PLAN_ANY_HOUR);
}

/* --- the order of moves ----------------------------------------------------------------------- */

TEST(cases, the_shortest_goes_first_then_the_unknown_then_those_of_an_hour)
{
    static const size_t expected[] = {3, 1, 5, 0, 2, 4};

    make(6);
    note_writes(4, 500, SUNDAY_3, 5);
    note_writes(1, 20, 0, 20);
    note_writes(3, 1, 0, 1);
    note_writes(5, 40, 0, 40);
    plan();
    ck_assert_uint_eq(result.moves.n, 6);
    for (size_t m = 0; m < 6; m++)
        ck_assert_uint_eq(result.moves.move[m].guest, expected[m]);
}

TEST(cases, guests_that_belong_together_follow_each_other)
{
    size_t at[4];

    make(4);
    note_writes(0, 1, 0, 1);
    note_writes(1, 20, 0, 20);
    note_writes(2, 10, 0, 10);
    note_writes(3, 1, 0, 1);
    fleet.guests[0].together = fleet.guests[1].together = 1;
    plan();
    ck_assert_uint_eq(result.moves.n, 4);
    for (size_t m = 0; m < 4; m++)
        at[result.moves.move[m].guest] = m;
    ck_assert_uint_eq(at[3], 0);
    ck_assert_uint_eq(at[2], 1);
    ck_assert_uint_eq(at[0], 2);
    ck_assert_uint_eq(at[1], 3);
}

/* One of two that may converge may have no total. */
TEST(cases, a_known_time_is_better_than_none)
{
    struct migrate_forecast known = {.verdict = MIGRATE_MAY_CONVERGE, .total_s = {5, 4, 9}};
    struct migrate_forecast none = {.verdict = MIGRATE_MAY_CONVERGE, .total_s = {NAN, 4, INFINITY}};

    ck_assert(plan_is_better(&known, &none));
    ck_assert(!plan_is_better(&none, &known));
    ck_assert(!plan_is_better(&none, &none));
    none.verdict = MIGRATE_CONVERGES;
    ck_assert(plan_is_better(&none, &known));
}
