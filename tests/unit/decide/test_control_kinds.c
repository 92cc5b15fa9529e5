// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_control_kinds.c  The control law against what operators meet: clocks that are set,
 * guests that are reset or suspended, drivers that report nonsense, other programs. */
#include "fixture.h"

#include "control_host.h"

#include <inttypes.h>

FIXTURE(kinds, .setup = setup);

/* The balloon does what it was told, and the host gets that memory back. */
static void follow(struct control_host *h, struct control_guest *g)
{
    if (g->action == CONTROL_NONE || g->action == CONTROL_RECLAIM)
        return;
    issue(h, g);
    resize(g, g->target_bytes, g->target_bytes);
}

static void shrink_to_rest(struct control_host *h, struct control_guest *g)
{
    begin_shrink(h, g);
    policy.proactive = false;
    resize(g, g->target_bytes, g->target_bytes);
    run(h, g, 1);
    run(h, g, 1);
}

/* Returns 1 if the balloon has turned: 64 MiB from its last extreme. */
static int turned(uint64_t bytes, uint64_t *extreme, int *way)
{
    int now = bytes > *extreme ? 1 : -1, was = *way;

    if (now != was && larger(bytes, *extreme) - smaller(bytes, *extreme) < 64 * MIB)
        return 0;
    *extreme = bytes;
    *way = now;
    return was != 0 && was != now;
}

/* --- clocks ----------------------------------------------------------------------------------- */

TEST_EACH(kinds, a_record_from_before_a_clock_was_set_back_proves_nothing, 0, 3)
{
    const double ages_s[] = {-20, -600, -8 * 3600};

    begin_shrink(&h, &g);
    policy.proactive = false;
    g.input.age_s = ages_s[_i]; /* its resident memory is that of before the order */
    resize(&g, g.target_bytes, 4096 * MIB);
    for (int i = 0; i < 10; i++)
        run(&h, &g, 1);
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
    g.input.age_s = 1;
    resize(&g, g.input.actual_bytes, g.input.actual_bytes);
    run(&h, &g, 1);
    ck_assert(!g.state.proving);
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
}

/* --- taken and not given back ----------------------------------------------------------------- */

/* vmwssd ended just before the balloon came to rest: no later record and no later statistics. */
TEST(kinds, memory_is_given_back_without_vmwssd)
{
    h = host(1500);
    rest(&g);
    shrink_to_rest(&h, &g);
    ck_assert_uint_lt(g.input.actual_bytes, 4096 * MIB);
    h.free_bytes = 30000 * MIB;
    g.input.age_s = g.input.guest.age_s = 60;
    for (int i = 0; i < 6 * 60 * 3; i++) {
        g.input.age_s += EVERY_S;
        g.input.guest.age_s += EVERY_S;
        run(&h, &g, 1);
        follow(&h, &g);
    }
    ck_assert_uint_eq(g.input.actual_bytes, 4096 * MIB);
}

/* The host has a load of its own, every half hour or hour, that is as large as what is given back.
 */
TEST_EACH(kinds, a_host_that_is_short_again_and_again_does_not_turn_balloons, 0, 4)
{
    static const int period_s[] = {600, 1800, 3600, 7200};
    const double days = 2;
    uint64_t extreme = 4096 * MIB;
    int way = 0, turns = 0;

    rest(&g);
    for (int i = 0; i < (int)(days * 8640); i++) {
        const bool loaded = i * EVERY_S % period_s[_i] >= period_s[_i] / 2;

        h.free_bytes = (loaded ? 500 : 20000) * MIB + 4096 * MIB - g.input.actual_bytes;
        run(&h, &g, 1);
        follow(&h, &g);
        turns += turned(g.input.actual_bytes, &extreme, &way);
    }
    ck_assert_msg(turns <= days * 24, "%d turns in %.0f days", turns, days);
    h.free_bytes = 20000 * MIB;
    for (int i = 0; i < 6 * 60 * 6; i++) {
        run(&h, &g, 1);
        follow(&h, &g);
    }
    ck_assert_uint_eq(g.input.actual_bytes, 4096 * MIB);
}

/* --- drivers that report nonsense ------------------------------------------------------------- */

/* As much as it has, or more: its kernel uses some. */
TEST_EACH(kinds, more_available_than_there_is_is_no_statistics, 0, 4)
{
    const uint64_t reports[] = {4096 * MIB, 4097 * MIB, 1ULL << 60, UINT64_MAX - 1};

    h = host(1500);
    for (int i = 0; i < 500; i++) {
        g.input.guest.available_bytes = reports[_i];
        ck_assert_int_eq(run(&h, &g, 1), CONTROL_NONE);
    }
    ck_assert(g.decision.vetoes & VETO_STATISTICS);
    ck_assert_uint_ge(g.decision.floor_bytes, 2048 * MIB);
    ck_assert_uint_eq(g.state.report.used_bytes, 0);
}

/* The driver reports in time, and always the same: its guest uses 3 GiB, and each step down would
 * look as if it used less. */
TEST_EACH(kinds, statistics_that_stand_still_are_none, 0, 2)
{
    h = host(_i ? 300 : 20000);
    policy.proactive = !_i;
    rest(&g);
    for (int i = 0; i < 6 * 60 * 12; i++) {
        g.input.guest.available_bytes = 1000 * MIB;
        run(&h, &g, 1);
        if (g.action != CONTROL_NONE) {
            issue(&h, &g);
            g.input.actual_bytes = g.input.resident_bytes = g.target_bytes;
        }
    }
    ck_assert_uint_ge(g.input.actual_bytes, 3600 * MIB);
    ck_assert(g.decision.vetoes & VETO_STATISTICS);
    g.input.guest.available_bytes = 1001 * MIB; /* they count again */
    run(&h, &g, 1);
    ck_assert(!(g.decision.vetoes & VETO_STATISTICS));
}

/* All of it is used as fast as it comes: nothing is available before and after. */
TEST(kinds, a_guest_that_has_nothing_left_reports_the_same_each_time)
{
    h = host(20000);
    resize(&g, 1024 * MIB, 1024 * MIB);
    rest(&g);
    for (int i = 0; i < 5; i++) {
        g.input.guest.available_bytes = 0;
        run(&h, &g, 1);
        ck_assert(g.decision.panics & PANIC_AVAILABLE);
        g.input.actual_bytes -= 100 * MIB; /* by another program */
        g.state.seen_bytes = g.input.actual_bytes;
    }
}

/* It has swap, but its processes may not use it (a container's memory.swap.max, mlock). */
TEST(kinds, swap_that_takes_nothing_is_not_counted_on_again)
{
    unsigned panics = 0;

    h = host(20000);
    policy.proactive = true;
    g.input.guest.available_bytes = 1000 * MIB;
    g.input.guest.swap_total_bytes = g.input.guest.swap_free_bytes = 8192 * MIB;
    g.input.guest.cold_anon_bytes = 1000 * MIB;
    rest(&g);
    for (int i = 0; i < 6 * 60 * 12; i++) {
        run(&h, &g, 1);
        panics += g.action == CONTROL_FULL;
        if (g.action != CONTROL_NONE) {
            issue(&h, &g);
            resize(&g, g.target_bytes, g.target_bytes);
        }
        g.input.guest.available_bytes = less(g.input.actual_bytes, 3096 * MIB);
    }
    ck_assert_uint_le(panics, 1);
}

/* --- guests that are reset, suspended or starved ---------------------------------------------- */

/* Its new kernel has no balloon, then its driver inflates it to the target that QEMU still has. */
TEST_EACH(kinds, a_reset_guest_keeps_its_limit_and_gets_back_what_it_had, 0, 2)
{
    h = host(1500);
    g.allowed_bytes = 0;
    resize(&g, 3072 * MIB, 3072 * MIB);
    settle(&h, &g, 1);
    shrink_to_rest(&h, &g);
    ck_assert_uint_eq(g.state.before_bytes, 3072 * MIB);

    const uint64_t set = g.state.set_bytes;

    h.free_bytes = 30000 * MIB;
    for (uint64_t mib = _i ? 3500 : 4095; mib * MIB > set; mib -= 300) {
        resize(&g, mib * MIB, mib * MIB);
        run_at_once(&h, &g);
    }
    resize(&g, set, set);
    for (int i = 0; i < 4; i++)
        run(&h, &g, 1);
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
    ck_assert_uint_eq(g.state.before_bytes, 3072 * MIB);
    ck_assert_uint_eq(g.input.limit_bytes, 3072 * MIB);
    g.hold = HOLD_PAUSE;
    ck_assert_msg(strstr(why(&h, &g), "s: it was reset"), "%s", why(&h, &g));
    control_restore(&h, RESTORE_BEFORE, &g, 1);
    ck_assert_int_eq(g.action, CONTROL_RESTORE);
    ck_assert_uint_eq(g.target_bytes, 3072 * MIB);
}

/* Each reset empties its balloon, as if what was taken had come back. */
TEST_EACH(kinds, a_guest_that_is_reset_now_and_then_gives_in_between, 0, 3)
{
    static const int every_h[] = {5, 6, 24};
    const int days = 4;
    int given = 0;

    policy.proactive = true;
    rest(&g);
    for (int i = 1; i <= 6 * 60 * 24 * days; i++) {
        if (i % (360 * every_h[_i]) == 0)
            resize(&g, 4096 * MIB, 4096 * MIB);
        run(&h, &g, 1);
        follow(&h, &g);
        given += g.input.actual_bytes < 3000 * MIB;
    }
    ck_assert_msg(given >= 6 * 60 * 24 * days / 2, "%d of %d hours", given / 360, 24 * days);
}

/* virsh suspend just after it had next to nothing available: its driver does not run. */
TEST(kinds, a_suspended_guest_is_not_taken_for_one_without_driver)
{
    resize(&g, 1024 * MIB, 1024 * MIB);
    rest(&g);
    g.input.guest.available_bytes = 10 * MIB;
    g.input.vetoes = VETO_PAUSED;
    for (int i = 0; i < 60; i++) {
        run_and_issue(&h, &g);
    }
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
}

/* At times its virtual CPUs get no time for many seconds. */
TEST(kinds, a_guest_whose_balloon_has_moved_is_tried_again)
{
    h = host(1500);
    rest(&g);
    shrink_to_rest(&h, &g);
    for (int i = 0; i < 200 && g.state.trouble == TROUBLE_NONE; i++) {
        run_and_issue(&h, &g);
    }
    ck_assert_int_eq(g.state.trouble, TROUBLE_NO_DRIVER);

    const uint64_t had = g.input.actual_bytes;

    for (int i = 0; i < 6 * 60 * 3; i++) {
        run(&h, &g, 1);
        follow(&h, &g);
    }
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
    ck_assert_uint_lt(g.input.actual_bytes, had);
}

/* --- other programs --------------------------------------------------------------------------- */

/* virsh setmem while the balloon is on its way: it goes further than it was told. */
TEST(kinds, another_program_that_takes_more_under_way_is_noticed)
{
    h = host(1500);
    rest(&g);
    begin_shrink(&h, &g);
    resize(&g, 3000 * MIB, 3000 * MIB);
    run(&h, &g, 1);
    ck_assert_int_eq(g.state.trouble, TROUBLE_FOREIGN);
    ck_assert_uint_eq(g.state.before_bytes, 0);
}

TEST(kinds, what_another_program_gives_under_way_stays_given)
{
    g.allowed_bytes = 0;
    resize(&g, 2000 * MIB, 2000 * MIB);
    rest(&g);
    g.state.limit_bytes = g.state.before_bytes = 3000 * MIB;
    g.input.guest.available_bytes = 10 * MIB;
    run(&h, &g, 1);
    ck_assert_uint_eq(g.target_bytes, 3000 * MIB);
    issue(&h, &g);
    resize(&g, 3500 * MIB, 2000 * MIB);
    g.input.guest.available_bytes = 1510 * MIB;
    run(&h, &g, 1);
    ck_assert_int_eq(g.state.trouble, TROUBLE_FOREIGN);
    ck_assert_uint_eq(g.state.limit_bytes, 3500 * MIB);
}

/* Between libvirt's answer and the order it was still inflating. */
TEST(kinds, a_balloon_that_turns_is_no_other_hand)
{
    rest(&g);
    begin_shrink(&h, &g);
    resize(&g, 4000 * MIB, 4000 * MIB);
    g.input.guest.oom_kill = true;
    ck_assert_int_eq(run_at_once(&h, &g), CONTROL_FULL);
    balloon_issued(&g.state, &g.input, g.target_bytes, h.now_s);
    resize(&g, 3900 * MIB, 3900 * MIB);
    run_at_once(&h, &g);
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
    ck_assert_uint_eq(g.state.before_bytes, 4096 * MIB);
}

/* --- memory that is plugged or unplugged ------------------------------------------------------ */

/* A DIMM comes in the last moments before SIGTERM: there is no decision that notes it. */
TEST_EACH(kinds, what_was_taken_is_restored_though_memory_was_just_plugged, 0, 4)
{
    const bool noted = _i & 1, late = _i & 2;

    h = host(1500);
    rest(&g);
    shrink_to_rest(&h, &g);
    ck_assert_uint_eq(g.input.actual_bytes, 3892 * MIB);
    h.free_bytes = 30000 * MIB;
    g.input.assigned_bytes += 1024 * MIB;
    if (noted)
        run(&h, &g, 1);
    if (!late)
        g.input.actual_bytes += 1024 * MIB;
    control_restore(&h, RESTORE_BEFORE, &g, 1);
    ck_assert_int_eq(g.action, CONTROL_RESTORE);
    ck_assert_uint_eq(g.target_bytes, 5120 * MIB);
    ck_assert_int_eq(g.hold, HOLD_NONE);
}

/* --- what is said ----------------------------------------------------------------------------- */

/* An idle guest gets back what it had, although less would be enough. */
TEST(kinds, an_order_up_is_not_on_the_way_down)
{
    h = host(1500);
    rest(&g);
    shrink_to_rest(&h, &g);
    h.free_bytes = 30000 * MIB;
    for (int i = 0; i < 200 && !g.given_back; i++)
        run(&h, &g, 1);
    ck_assert_int_eq(g.action, CONTROL_GROW);
    ck_assert_uint_ge(control_goal(&g), g.target_bytes);
    control_restore(&h, RESTORE_BEFORE, &g, 1);
    ck_assert_int_eq(g.action, CONTROL_RESTORE);
    ck_assert_uint_ge(control_goal(&g), g.target_bytes);
}

/* A guest that took memory back by itself had no panic. */
TEST(kinds, a_pause_is_said_to_be_after_what_it_is_after)
{
    h = host(1500);
    rest(&g);
    shrink_to_rest(&h, &g);
    resize(&g, 3950 * MIB, 3950 * MIB);
    for (int i = 0; i < 8; i++) {
        run(&h, &g, 1);
        follow(&h, &g);
    }
    ck_assert_int_eq(g.hold, HOLD_PAUSE);
    ck_assert_msg(!strstr(why(&h, &g), "panic"), "%s", why(&h, &g));
    ck_assert_msg(strstr(why(&h, &g), "the guest itself"), "%s", why(&h, &g));
}

/* --- other programs that insist, or are slow -------------------------------------------------- */

/* A script sets 4 GiB once a minute. */
TEST(kinds, another_program_that_sets_the_same_size_again_is_noticed)
{
    unsigned turns = 0;

    h = host(1500);
    rest(&g);
    for (int i = 0; i < 6 * 60 * 6; i++) {
        if (i % 6 == 0) {
            turns += g.input.actual_bytes < 4096 * MIB;
            resize(&g, 4096 * MIB, 4096 * MIB);
        }
        run(&h, &g, 1);
        if (turns == 3 && g.hold == HOLD_PAUSE)
            ck_assert_msg(strstr(why(&h, &g), "3 times in a row"), "%s", why(&h, &g));
        follow(&h, &g);
    }
    ck_assert_uint_ge(turns, 5); /* it may have ended */
    ck_assert_uint_le(turns, 8);
    ck_assert_uint_eq(g.input.limit_bytes, 4096 * MIB);
}

/* It gives a part back, and never all: the guest had 4 GiB. */
TEST_EACH(kinds, another_program_that_gives_a_part_back_makes_no_turns, 0, 6)
{
    static const struct {
        int every, mib;
        bool adds;
    } rivals[] = {{90, 300, true},  {90, 100, true},    {30, 3000, false},
                  {6, 3500, false}, {180, 4096, false}, {3, 50, true}};
    uint64_t extreme = 4096 * MIB;
    int way = 0, turns = 0;

    h = host(20000);
    policy.proactive = true;
    rest(&g);
    for (int i = 1; i < 6 * 60 * 24; i++) {
        uint64_t bytes = (uint64_t)rivals[_i].mib * MIB;

        if (i % rivals[_i].every == 0) {
            bytes += rivals[_i].adds ? g.input.actual_bytes : 0;
            resize(&g, smaller(bytes, 4096 * MIB), smaller(bytes, 4096 * MIB));
        }
        turns += turned(g.input.actual_bytes, &extreme, &way);
        run(&h, &g, 1);
        follow(&h, &g);
        turns += turned(g.input.actual_bytes, &extreme, &way);
    }
    ck_assert_msg(turns <= 2 * 24, "%d turns a day", turns);
}

/* It sets each of our first targets back before the next decision, as if there were no driver. */
TEST(kinds, a_balloon_that_does_not_move_may_be_set_back)
{
    h = host(1500);
    rest(&g);
    for (int i = 0; i < 500 && g.state.trouble == TROUBLE_NONE; i++) {
        run_and_issue(&h, &g);
    }
    ck_assert_int_eq(g.state.trouble, TROUBLE_NO_DRIVER);
    ck_assert_msg(strstr(why(&h, &g), "another program"), "%s", why(&h, &g));
}

/* Half a MiB at a time. */
TEST(kinds, another_program_that_moves_slowly_is_noticed)
{
    settle(&h, &g, 1);
    for (int i = 0; i < 4; i++) {
        resize(&g, g.input.actual_bytes - MIB / 2, g.input.actual_bytes - MIB / 2);
        run(&h, &g, 1);
    }
    ck_assert_int_eq(g.state.trouble, TROUBLE_FOREIGN);
}

/* --- daemons that have ended, or are starved -------------------------------------------------- */

/* vmwssd ended before it saw whether what a panic was given is touched. */
TEST_EACH(kinds, what_no_record_shows_is_not_promised_for_ever, 0, 2)
{
    struct control_host h = host(6000);
    struct control_guest g[2] = {guest(), guest()};

    for (int i = 0; i < 2; i++) {
        resize(&g[i], 1024 * MIB, _i ? 1024 * MIB : 0); /* resident is 0: it was never measured */
        rest(&g[i]);
        g[i].input.age_s = _i ? 600 : 0;
    }
    g[0].input.guest.available_bytes = 10 * MIB;
    run(&h, g, 2);
    issue(&h, &g[0]);
    resize(&g[0], g[0].target_bytes, g[0].input.resident_bytes);
    for (int i = 0; i < 6 * 60 * 2; i++) {
        if (_i)
            g[0].input.age_s += EVERY_S;
        run(&h, g, 2);
        if (i < 100)
            ck_assert_uint_gt(g[0].state.pending_bytes, 2000 * MIB);
    }
    g[1].input.guest.available_bytes = 10 * MIB;
    run(&h, g, 2);
    ck_assert_uint_gt(g[1].target_bytes, 3000 * MIB);
}

/* Decisions come eleven minutes apart. */
TEST(kinds, a_wait_is_not_longer_than_what_it_is_for)
{
    h = host(1500);
    rest(&g);
    for (int i = 0; i < 2; i++) {
        h.now_s += 660;
        control_run(&policy, &h, &g, 1);
    }
    ck_assert_int_eq(g.hold, HOLD_WAITING);
    ck_assert_msg(strstr(why(&h, &g), "in 2 of 3 decisions"), "%s", why(&h, &g));
}

/* --- balloons that stop on their way, on a host that has nothing to give ---------------------- */

/* QEMU's target would stay below, and the driver of a guest that needs more would go on taking. */
TEST(kinds, a_balloon_that_stops_is_left_where_it_is_though_its_guest_needs_more)
{
    h = host(700);
    rest(&g);
    begin_shrink(&h, &g);
    policy.proactive = false;
    resize(&g, 4000 * MIB, 4000 * MIB);
    run(&h, &g, 1);
    g.input.guest.available_bytes = 90 * MIB;
    g.input.vetoes |= VETO_DUMP;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_SETTLE);
    ck_assert_uint_eq(g.target_bytes, 4000 * MIB);
}

/* Its driver was stuck for three targets, and goes on when the host is still short. */
TEST(kinds, what_was_taken_from_a_stuck_balloon_is_not_forgotten)
{
    h = host(700);
    rest(&g);
    shrink_to_rest(&h, &g);
    for (int i = 0; i < 40 && g.state.trouble == TROUBLE_NONE; i++) {
        run_and_issue(&h, &g);
    }
    ck_assert_int_eq(g.state.trouble, TROUBLE_NO_DRIVER);
    ck_assert_int_eq(g.action, CONTROL_SETTLE);
    ck_assert_uint_eq(g.target_bytes, g.input.actual_bytes);
    ck_assert_uint_eq(g.state.before_bytes, 4096 * MIB);
}

/* --- guests of all sizes ---------------------------------------------------------------------- */

static uint64_t hours_until_given_back(uint64_t mib)
{
    struct control_host h = {.total_bytes = 2 * mib * MIB, .free_bytes = mib * MIB, .now_s = 1000};
    struct control_guest g = guest();
    int n = 0;

    policy.levels.high_bytes = 0;
    g.input.assigned_bytes = mib * MIB;
    g.input.guest.available_bytes = 0;
    resize(&g, mib * MIB / 4 * 3, mib * MIB / 4 * 3);
    g.input.guest.available_bytes = mib * MIB / 2;
    rest(&g);
    g.state.before_bytes = mib * MIB;
    while (g.input.actual_bytes < mib * MIB && n++ < 6 * 60 * 12) {
        run(&h, &g, 1);
        follow(&h, &g);
    }
    return (uint64_t)n / 360;
}

/* A quarter of what it has. */
TEST(kinds, a_guest_of_any_size_gets_back_what_it_had_within_hours)
{
    static const uint64_t sizes_mib[] = {256, 2048, 65536, 1048576, 12 * 1048576};

    for (size_t i = 0; i < COUNT(sizes_mib); i++)
        ck_assert_msg(hours_until_given_back(sizes_mib[i]) < 3, "%" PRIu64 " MiB: %" PRIu64 " h",
                      sizes_mib[i], hours_until_given_back(sizes_mib[i]));
}

/* The host has just a little more than it keeps. */
TEST(kinds, what_is_given_back_is_worth_a_move)
{
    h = host(0);
    h.free_bytes = policy.levels.high_bytes * 5 / 4 + 5 * MIB;
    resize(&g, 3000 * MIB, 3000 * MIB);
    rest(&g);
    g.state.before_bytes = 4096 * MIB;
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_NONE);
    g.state.before_bytes = 3004 * MIB;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_GROW);
    ck_assert_uint_eq(g.target_bytes, 3004 * MIB);
}

/* --- memory of another scope ------------------------------------------------------------------ */

/* A group of 8 GiB with 3 GiB available on a host of 512 GiB, whose level high is 5.7 GiB. */
TEST(kinds, a_host_is_short_around_a_group_that_is_not)
{
    h = host(3072);
    policy.levels.high_bytes = 0;
    h.group = "machine.slice";
    h.total_bytes = 8192 * MIB;
    h.around = (struct levels_pool){524288 * MIB, 8192 * MIB};
    settle(&h, &g, 1);
    ck_assert_int_eq(h.level, LEVEL_AMPLE);
    ck_assert_int_eq(g.action, CONTROL_NONE);
    h.around.free_bytes = 4096 * MIB;
    settle(&h, &g, 1);
    ck_assert_int_eq(h.level, LEVEL_HIGH);
    ck_assert_int_eq(g.action, CONTROL_SHRINK);
}

/* --- what the owner holds back ---------------------------------------------------------------- */

/* vmwss-balloond starts while a guest is short that has all that its owner gives it. */
TEST(kinds, a_panic_at_the_start_gets_no_more_than_the_owner_gives)
{
    h = host(30000);
    g.allowed_bytes = 0;
    resize(&g, 2048 * MIB, 2048 * MIB);
    g.input.guest.available_bytes = 10 * MIB;
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(run(&h, &g, 1), CONTROL_NONE);
    }
    g.allowed_bytes = 3000 * MIB;
    run(&h, &g, 1);
    ck_assert_uint_eq(g.target_bytes, 3000 * MIB);
}

/* 256 MiB each 40 s left a guest of 2 GiB to its OOM killer for ten minutes. */
TEST(kinds, a_large_donor_gives_at_once_what_a_short_host_misses)
{
    h = host(400);
    g.input.assigned_bytes = 65536 * MIB;
    resize(&g, 65536 * MIB, 65536 * MIB);
    rest(&g);
    g.state.pace.known_since_s = 1;
    for (int i = 0; i < 3; i++)
        run(&h, &g, 1);
    ck_assert_int_eq(g.action, CONTROL_SHRINK);
    ck_assert_uint_eq(65536 * MIB - g.target_bytes, h.missing_bytes);
    h.missing_bytes = 0;
    h.free_bytes = 840 * MIB; /* above hard */
    h.level = LEVEL_SOFT;
    settle(&h, &g, 1);
    ck_assert_uint_eq(65536 * MIB - g.target_bytes, 256 * MIB);
}

/* Its other processes need little, but it has not been given what its panic asked for. */
TEST(kinds, a_guest_whose_process_was_killed_still_waits)
{
    struct control_host h = host(840);
    struct control_guest g[2] = {guest(), guest()};

    resize(&g[0], 2048 * MIB, 2048 * MIB);
    rest(&g[0]);
    g[0].input.guest.oom_kill = true;
    run(&h, g, 2);
    g[0].input.guest.oom_kill = false;
    for (int i = 0; i < 30; i++)
        run(&h, g, 2);
    ck_assert_uint_gt(h.waiting_bytes, 0);
    h.free_bytes = 6000 * MIB;
    run(&h, g, 2);
    ck_assert_uint_eq(g[0].target_bytes, 2452 * MIB);
}

/* --- drivers that load late ------------------------------------------------------------------- */

/* One order an hour, and what it has as its target again, until its driver is loaded. */
TEST(kinds, a_driver_that_loads_late_is_found)
{
    unsigned orders = 0;

    h = host(1500);
    rest(&g);
    for (int i = 0; i < 500 && g.state.trouble == TROUBLE_NONE; i++) {
        run_and_issue(&h, &g);
    }
    ck_assert_int_eq(g.state.trouble, TROUBLE_NO_DRIVER);
    for (int i = 0; i < 6 * 60 * 4; i++) {
        run(&h, &g, 1);
        orders += g.action != CONTROL_NONE;
        if (g.action != CONTROL_NONE)
            issue(&h, &g);
    }
    ck_assert_uint_ge(orders, 2);
    ck_assert_uint_le(orders, 9);
    for (int i = 0; i < 6 * 60 * 2; i++) {
        run(&h, &g, 1);
        follow(&h, &g);
    }
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
    ck_assert_uint_lt(g.input.actual_bytes, 4096 * MIB);
}

/* --- how much is little ----------------------------------------------------------------------- */

/* 0.5 % of what is above 64 GiB: 12 TiB with 300 GiB available were short. */
TEST(kinds, a_large_guest_is_not_short_with_hundreds_of_gib)
{
    struct decide_input input = idle();

    input.assigned_bytes = input.actual_bytes = 12 * 1048576 * MIB;
    input.guest.available_bytes = 300 * 1024 * MIB;
    ck_assert_uint_eq(decide_panics(&policy.decide, &input), 0);
    input.guest.available_bytes = 60 * 1024 * MIB;
    ck_assert_uint_eq(decide_panics(&policy.decide, &input), PANIC_AVAILABLE);
    input.assigned_bytes = input.actual_bytes = 65536 * MIB;
    input.guest.available_bytes = 1638 * MIB;
    ck_assert_uint_eq(decide_panics(&policy.decide, &input), PANIC_AVAILABLE);
    input.guest.available_bytes = 1639 * MIB;
    ck_assert_uint_eq(decide_panics(&policy.decide, &input), 0);
}

/* --- found by other cases of the same kinds --------------------------------------------------- */

/* The guest's driver takes what its owner holds back, from 4 to 2 GiB. That is no trouble, and a
 * panic gives it no more. */
static void load_driver(uint64_t available_bytes)
{
    for (uint64_t mib = 3500; mib > 2048; mib -= 500) {
        resize(&g, mib * MIB, available_bytes);
        run(&h, &g, 1);
    }
    resize(&g, 2048 * MIB, available_bytes);
    run(&h, &g, 1);
    run(&h, &g, 1);
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
    g.input.guest.available_bytes = 8 * MIB;
    run(&h, &g, 1);
    follow(&h, &g);
    ck_assert_uint_eq(g.input.actual_bytes, 2048 * MIB);
}

/* Its owner gives it 2 of 4 GiB. Nothing was taken from it; it boots again for a while, and has all
 * of it until its driver has loaded. */
TEST_EACH(kinds, a_reset_guest_that_was_not_shrunk_keeps_its_limit, 0, 3)
{
    static const int boots[] = {2, 30, 130};

    g.allowed_bytes = 0;
    resize(&g, 2048 * MIB, 2048 * MIB);
    rest(&g);
    run(&h, &g, 1);
    resize(&g, 4096 * MIB, 2048 * MIB);
    for (int i = 0; i < boots[_i]; i++)
        run(&h, &g, 1);
    load_driver(2048 * MIB);
    ck_assert(g.decision.limited);
}

/* Its file systems were checked first: its driver reports for the first time after 20 minutes. */
TEST(kinds, a_driver_that_loads_after_the_start_takes_what_is_held_back)
{
    g.allowed_bytes = 0;
    g.input.guest.starting = true;
    g.input.up_s = 10;
    for (int i = 0; i < 120; i++) {
        run(&h, &g, 1);
        g.input.up_s += EVERY_S;
    }
    load_driver(500 * MIB);
}

/* Memory would be taken from another guest for a need that is not known. */
TEST_EACH(kinds, a_record_that_is_not_current_is_no_panic, 0, 4)
{
    const double ages_s[] = {-8 * 3600, -60, 3600, 86400};

    resize(&g, 2048 * MIB, 2048 * MIB);
    rest(&g);
    g.state.before_bytes = g.state.limit_bytes = 4096 * MIB;
    g.input.age_s = ages_s[_i];
    g.input.short_wss = (struct decide_wss){60, 1900 * MIB, 1950 * MIB};
    run(&h, &g, 1);
    ck_assert_uint_eq(g.decision.panics, 0);
    if (ages_s[_i] < 0) { /* it may be of an hour to come, in which anything may be needed */
        ck_assert_uint_eq(g.decision.demand_short_bytes, 0);
        ck_assert_int_eq(g.action, CONTROL_NONE);
    }
    ck_assert(g.decision.vetoes & VETO_STALE);
}

/* A driver counts allocations that wait, and nothing else; or an agent reports full alone. */
TEST_EACH(kinds, growth_that_did_not_lower_any_pressure_is_not_repeated, 0, 2)
{
    int panics = 0;

    h = host(3000);
    g.input.assigned_bytes = 16384 * MIB;
    rest(&g);
    g.state.before_bytes = g.state.limit_bytes = 16384 * MIB;
    g.input.guest.psi_some = g.input.guest.psi_full = g.input.guest.stalls_s = NAN;
    *(_i ? &g.input.guest.psi_full : &g.input.guest.stalls_s) = _i ? 0.05 : 5;
    for (int i = 0; i < 6 * 60 * 2; i++) {
        g.input.guest.available_bytes = 1000 * MIB;
        run(&h, &g, 1);
        panics += g.decision.panics != 0;
        follow(&h, &g);
    }
    ck_assert_int_gt(panics, 0);
    ck_assert_uint_eq(g.decision.panics, 0);
    ck_assert(g.decision.vetoes & VETO_PRESSURE);
}

/* Room for 1 GiB is kept for a guest that is to start, of 20. */
TEST(kinds, who_waits_gets_back_though_room_is_kept)
{
    policy.proactive = false;
    resize(&g, 2048 * MIB, 2048 * MIB);
    rest(&g);
    g.state.before_bytes = g.state.limit_bytes = 4096 * MIB;
    g.input.guest.psi_some = 0.03;
    h.room_bytes = 1024 * MIB;
    for (int i = 0; i < 6 * 60 * 6; i++) {
        run(&h, &g, 1);
        follow(&h, &g);
    }
    ck_assert_uint_eq(g.input.actual_bytes, 4096 * MIB);
}
