// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_fleet_writes.c  When the writes of guests are measured, and where the curves go. */
#include "made_up_fleet.h"

#include "fixture.h"

FIXTURE(cases, .timeout_s = 120);

static void start_measuring(int n, double period_s, double writes_s)
{
    start(n, period_s);
    config.writes_s = writes_s;
    fleet_configure(fleet, &config);
}

/* The one guest. */
static struct fleet_guest *guest(void)
{
    return fleet->table.guests;
}

TEST(cases, none_is_measured_unless_that_is_configured)
{
    start(N, 0.2);
    add_at_once(N);
    ck_assert(are_scanned(N, -1, 10));
    ck_assert_uint_eq(atomic_load(&shared->measured), 0);
    fleet_stop(fleet);
}

TEST(cases, one_guest_is_measured_at_a_time)
{
    start_measuring(N, 0.2, 1000);
    atomic_store(&shared->writes_us, 150000);
    add_at_once(N);
    ck_assert(becomes(&shared->measured, N));
    ck_assert(are_scanned(N, -1, 10));
    for (int i = 0; i < N; i++)
        ck_assert_uint_eq(atomic_load(&shared->of[i].measured), 1);
    ck_assert_uint_eq(atomic_load(&shared->measuring_most), 1);
    fleet_stop(fleet);
}

TEST(cases, a_guest_is_measured_again_after_its_period)
{
    start_measuring(1, 0.2, 20);
    add_at_once(1);
    ck_assert(becomes(&shared->measured, 1));
    virtual_clock_pass_ms(18000);
    ck_assert_uint_eq(atomic_load(&shared->measured), 1);
    ck_assert(becomes(&shared->measured, 2));
    fleet_stop(fleet);
}

/* At a quarter of the budget half a second is paid in two. */
TEST(cases, what_one_has_cost_is_paid_before_the_next)
{
    start_measuring(2, 0.2, 1000);
    atomic_store(&shared->writes_cpu_ms, 500);
    add_at_once(2);
    ck_assert(becomes(&shared->measured, 1));
    virtual_clock_pass_ms(1500);
    ck_assert_uint_eq(atomic_load(&shared->measured), 1);
    ck_assert(becomes(&shared->measured, 2));
    fleet_stop(fleet);
}

TEST(cases, a_curve_goes_into_the_next_record_and_no_other)
{
    struct sample_record record = {0};

    start_measuring(1, 300, 1000);
    atomic_store(&shared->writes_us, 1000000); /* the second scan is over by then */
    add_at_once(1);
    ck_assert(becomes(&shared->measured, 1));
    virtual_clock_settle();
    fleet_writes_take(fleet, guest(), &record);
    ck_assert_str_eq(record.writes.method, "soft-dirty");
    ck_assert_uint_eq(record.writes.n, 1);
    ck_assert_uint_eq(record.writes.points[0].bytes, 4096);
    record.writes = (struct write_curve){0};
    fleet_writes_take(fleet, guest(), &record);
    ck_assert_ptr_null(record.writes.method);
    fleet_stop(fleet);
}

TEST(cases, a_refusal_is_kept_and_not_tried_again_at_once)
{
    start_measuring(1, 0.2, 1000);
    atomic_store(&shared->blind, true);
    add_at_once(1);
    ck_assert(becomes(&shared->measured, 1));
    ck_assert(are_scanned(1, -1, 10));
    ck_assert_uint_eq(atomic_load(&shared->measured), 1);
    ck_assert_str_eq(guest()->written.refusal, "nothing sees it");
    ck_assert_ptr_null(guest()->written.curve);
    fleet_stop(fleet);
}

/* A window in which the guest stood still would be taken for one in which it wrote little. */
TEST(cases, a_guest_that_was_suspended_meanwhile_has_no_curve)
{
    char uuid[37];

    start_measuring(1, 300, 1000);
    atomic_store(&shared->writes_us, 1000000);
    add_at_once(1);
    ck_assert(becomes(&shared->of[0].measured, 1));
    uuid_of(0, uuid);
    fleet_note_moving(fleet, 0, uuid, true);
    virtual_clock_pass_ms(10);
    fleet_note_moving(fleet, 0, uuid, false);
    ck_assert(becomes(&shared->measured, 1));
    virtual_clock_settle();
    ck_assert_ptr_null(guest()->written.curve);
    fleet_stop(fleet);
}
