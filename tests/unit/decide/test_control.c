// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_control.c  The control law of the host: each rule, and what must hold whatever the
 * guests do and claim. */
#include "base/bytes.h"
#include "base/random.h"

#include "fixture.h"

#include "control_host.h"

#include <string.h>

/* --- levels ----------------------------------------------------------------------------------- */

FIXTURE(rules, .setup = setup);

/* It had 1000 MiB and a job needs 2400: 1.2 x 1000 would be too little the next night, and for one
 * that was short of a little 1.2 x 4000 would be too much. */
TEST_EACH(rules, what_was_needed_is_learned, 0, 2)
{
    const uint64_t had = (_i ? 1000 : 3000) * MIB, needs = (_i ? 2400 : 2900) * MIB;
    uint64_t learned;

    h = host(60000);
    resize(&g, had, had);
    rest(&g);
    g.input.guest.available_bytes = 10 * MIB;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_FULL);
    ck_assert_uint_eq(g.state.pace.panic_bytes, had / 5 * 6);
    issue(&h, &g);
    resize(&g, 4096 * MIB, needs);
    for (int i = 0; i < 20; i++) { /* it takes what it needs, and gives it back after minutes */
        g.input.guest.available_bytes = 4096 * MIB - (i < 12 ? needs : 500 * MIB);
        run(&h, &g, 1);
    }
    learned = g.state.pace.panic_bytes;
    ck_assert_uint_eq(learned, needs + g.decision.reserve_bytes);
    g.input.guest.available_bytes = 1000 * MIB; /* long afterwards */
    h.now_s += 7200;
    run(&h, &g, 1);
    ck_assert_uint_eq(g.state.pace.panic_bytes, learned);
}

TEST(rules, levels_slide_with_the_size_of_the_host)
{
    static const struct {
        uint64_t total_mib, high_mib;
    } hosts[] = {{1024, 128},   {2048, 256},  {4096, 256},      {8192, 409},
                 {65536, 1269}, {35840, 972}, {1048576, 11100}, {4194304, 42557}};

    control_policy_init(&policy);
    for (size_t i = 0; i < COUNT(hosts); i++) {
        struct levels levels = levels_of(&policy.levels, hosts[i].total_mib * MIB, 0);

        ck_assert_uint_eq(levels.threshold_bytes[LEVEL_HIGH] / MIB, hosts[i].high_mib);
    }
    policy.levels.hard_bytes = 100 * MIB;
    struct levels levels = levels_of(&policy.levels, 65536 * MIB, 0);

    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_HIGH] / MIB, 1269);
    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_SOFT] / MIB, 200);
    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_HARD] / MIB, 100);
    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_LOW] / MIB, 50);
    policy.levels.hard_bytes = 5000 * MIB; /* never more than high */
    levels = levels_of(&policy.levels, 65536 * MIB, 0);
    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_HARD] / MIB, 1269);
    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_SOFT] / MIB, 1269);
}

TEST(rules, the_joint_growth_of_guests_is_kept_free)
{
    h = host(60000);
    control_policy_init(&policy);
    run(&h, &g, 1);
    ck_assert_uint_eq(h.levels.threshold_bytes[LEVEL_HIGH] / MIB, 1269);
    h.growth_bytes = 4096 * MIB;
    run(&h, &g, 1);
    ck_assert_uint_eq(h.levels.threshold_bytes[LEVEL_HIGH] / MIB, 4096);
    h.growth_bytes = 60000 * MIB; /* no more than a quarter of the host */
    run(&h, &g, 1);
    ck_assert_uint_eq(h.levels.threshold_bytes[LEVEL_HIGH] / MIB, 16384);
}

/* 720 of 755 GiB are in a pool of huge pages, which guest_scope.h leaves out. */
TEST(rules, huge_pages_are_no_memory_of_the_levels)
{
    struct control_host h = {.total_bytes = 35ULL * 1024 * MIB, .free_bytes = 17ULL * 1024 * MIB};
    struct control_guest g = guest();

    control_policy_init(&policy);
    run(&h, &g, 1);
    ck_assert_int_eq(h.level, LEVEL_AMPLE);
    h.free_bytes = 900 * MIB;
    run(&h, &g, 1);
    ck_assert_int_eq(h.level, LEVEL_HIGH);
}

TEST(rules, levels_have_hysteresis)
{
    policy.levels.high_bytes = 4000;

    struct levels levels = levels_of(&policy.levels, 100000, 0);

    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_HIGH], 4000);
    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_SOFT], 2560);
    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_HARD], 1280);
    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_LOW], 640);

    static const struct {
        uint64_t free_bytes;
        enum control_level level;
    } steps[] = {
        {4000, LEVEL_AMPLE}, {3999, LEVEL_HIGH}, {4999, LEVEL_HIGH}, {5000, LEVEL_AMPLE},
        {639, LEVEL_LOW},    {799, LEVEL_LOW},   {800, LEVEL_HARD},  {1599, LEVEL_HARD},
        {1600, LEVEL_SOFT},  {3199, LEVEL_SOFT}, {3200, LEVEL_HIGH}, {9000, LEVEL_AMPLE},
    };
    enum control_level level = LEVEL_AMPLE;

    for (size_t i = 0; i < COUNT(steps); i++) {
        level = levels_next(&policy.levels, &levels, level, steps[i].free_bytes);
        ck_assert_int_eq(level, steps[i].level);
    }
    policy.levels.high_bytes = 0;
    levels = levels_of(&policy.levels, 100000, 12000);
    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_HIGH], 12500); /* an eighth */
    levels = levels_of(&policy.levels, 100000, 20000);
    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_HIGH], 20000);
    policy.levels.high_bytes = 10000;
    levels = levels_of(&policy.levels, 100000, 20000);
    ck_assert_uint_eq(levels.threshold_bytes[LEVEL_HIGH], 10000);
    ck_assert_str_eq(levels_name(LEVEL_LOW), "low");
}

/* --- who gives -------------------------------------------------------------------------------- */

TEST(rules, lazy_takes_nothing_while_the_host_is_ample)
{
    h = host(30000);
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_NONE);
    ck_assert_int_eq(g.hold, HOLD_AMPLE);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "the host has enough: 30000 MiB are free"));
    h.free_bytes = 2000 * MIB;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_SHRINK);
    ck_assert_uint_eq(g.target_bytes, 3892 * MIB); /* 5 % of 4096 are 204.8 */
    ck_assert_int_eq(h.level, LEVEL_HIGH);
}

TEST(rules, proactive_takes_from_all)
{
    struct control_host h = host(30000);
    struct control_guest g[2] = {guest(), guest()};

    policy.proactive = true;
    for (int i = 0; i < 5; i++) /* statistics that were made since it was seen first */
        run(&h, g, 2);
    ck_assert_int_eq(g[0].hold, HOLD_WAITING);
    ck_assert_ptr_nonnull(strstr(why(&h, &g[0]), "less is enough, for "));
    ck_assert_int_eq(settle(&h, g, 2), CONTROL_SHRINK);
    ck_assert_int_eq(g[1].action, CONTROL_SHRINK);
}

TEST(rules, the_idlest_gives_first)
{
    struct control_host h = host(3250);
    struct control_guest g[3] = {guest(), guest(), guest()};

    g[1].input.mid_wss.high_bytes = 100 * MIB; /* its rho is the lowest */
    g[2].input.shares = 100000;
    settle(&h, g, 3);
    ck_assert_int_eq(g[1].hold, HOLD_AMPLE);
    h.free_bytes = 2620 * MIB; /* 656 MiB are missing to 3276: two of 205 are not enough */
    ck_assert_int_eq(run(&h, g, 3), CONTROL_SHRINK);
    h.free_bytes = 3172 * MIB; /* 104 are missing */
    run(&h, g, 3);
    ck_assert_int_eq(g[1].action, CONTROL_SHRINK);
    ck_assert_int_eq(g[0].action, CONTROL_NONE);
    ck_assert_int_eq(g[2].action, CONTROL_NONE);
    ck_assert_int_eq(g[0].hold, HOLD_OTHERS);
    issue(&h, &g[1]);
    resize(&g[1], 4000 * MIB, 4000 * MIB);
    run(&h, g, 3); /* what is on its way counts */
    ck_assert_int_eq(g[1].hold, HOLD_MOVING);
    ck_assert_int_eq(g[0].action, CONTROL_NONE);
}

/* The memory that others would give does not come. */
TEST(rules, one_guest_is_tried_beside_a_dry_run_of_others)
{
    struct control_host h = host(3250);
    struct control_guest g[2] = {guest(), guest()};

    g[0].input.mid_wss.high_bytes = 100 * MIB; /* its rho is the lowest */
    g[1].acts = true;
    settle(&h, g, 2);
    h.free_bytes = 2620 * MIB;
    run(&h, g, 2);
    h.free_bytes = 3172 * MIB; /* 104 are missing */
    run(&h, g, 2);
    ck_assert_int_eq(g[1].action, CONTROL_SHRINK);
    ck_assert_int_eq(g[0].hold, HOLD_OTHERS);
    g[0].acts = true;
    ck_assert_int_eq(run(&h, g, 2), CONTROL_SHRINK);
    ck_assert_int_eq(g[1].hold, HOLD_OTHERS);
    ck_assert_uint_lt(control_goal(&g[0]), g[0].target_bytes);
}

TEST(rules, room_is_made_on_demand)
{
    h = host(30000);
    settle(&h, &g, 1);
    h.room_bytes = 30100 * MIB;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_SHRINK);
    ck_assert_uint_eq(h.missing_bytes, 100 * MIB);
}

/* Neither by a claim beyond its share, nor by what was given and is not touched yet. */
TEST(rules, room_is_not_given_away)
{
    struct control_host h = host(30000);
    struct control_guest g[2] = {guest(), guest()};

    settle(&h, g, 2);
    resize(&g[0], 1000 * MIB, 1000 * MIB);
    rest(&g[0]);
    g[0].input.shares = 1;
    g[0].input.guest.psi_full = 0.5;
    h.room_bytes = 29900 * MIB;
    run(&h, g, 2);
    ck_assert_uint_le(g[0].target_bytes, larger(1100 * MIB, g[0].share_bytes));
    g[0] = guest();
    resize(&g[0], 4096 * MIB, 3896 * MIB);
    rest(&g[0]);
    g[0].state.pending_bytes = 200 * MIB;
    h.room_bytes = 30000 * MIB;
    run(&h, g, 2);
    ck_assert_uint_eq(h.missing_bytes, 200 * MIB);
}

TEST(rules, a_veto_holds)
{
    h = host(100);
    g.input.vetoes = VETO_VFIO;
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_NONE);
    ck_assert_int_eq(g.hold, HOLD_DECISION);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "VFIO"));
}

TEST(rules, the_excluded_and_the_unknown_are_left_alone)
{
    struct control_host h = host(100);
    struct control_guest g[2] = {guest(), guest()};

    g[0].excluded = true;
    g[1].input.actual_bytes = DECIDE_UNKNOWN;
    settle(&h, g, 2);
    ck_assert_int_eq(g[0].hold, HOLD_EXCLUDED);
    ck_assert_int_eq(g[1].hold, HOLD_UNKNOWN);
    ck_assert_int_eq(g[0].action, CONTROL_NONE);
    ck_assert_int_eq(g[1].action, CONTROL_NONE);
}

/* --- growth and panic ------------------------------------------------------------------------- */

/* Needs 3000 MiB, as the host has measured, and has 1000. */
static struct control_guest hungry(void)
{
    struct control_guest g = guest();

    resize(&g, 1000 * MIB, 1000 * MIB);
    g.input.short_wss = (struct decide_wss){60, 850 * MIB, 2400 * MIB};
    rest(&g);
    return g;
}

TEST(rules, growth_is_at_once)
{
    struct control_host h = host(10000);
    struct control_guest g = hungry();

    ck_assert_int_eq(run(&h, &g, 1), CONTROL_GROW);
    ck_assert_uint_eq(g.target_bytes, 2605 * MIB);
}

TEST(rules, growth_has_two_phases_when_the_host_is_short)
{
    struct control_host h = host(1338); /* 500 above hard */
    struct control_guest g[2] = {guest(), hungry()};

    h.level = LEVEL_HIGH;
    settle(&h, g, 2);
    uint64_t had = g[1].target_bytes - 1000 * MIB;

    ck_assert_int_eq(g[1].action, CONTROL_GROW);
    ck_assert_int_eq(g[1].hold, HOLD_ROOM);
    ck_assert(had >= 499 * MIB && had <= 500 * MIB);
    ck_assert_int_eq(g[0].action, CONTROL_SHRINK);
    issue(&h, &g[0]);
    issue(&h, &g[1]);
    resize(&g[1], g[1].target_bytes, 1000 * MIB); /* given, not touched */
    run(&h, g, 2);
    ck_assert_uint_eq(g[1].target_bytes,
                      g[1].input.actual_bytes); /* nothing from what is pending */
    ck_assert_int_eq(g[1].hold, HOLD_ROOM);
    ck_assert_ptr_nonnull(strstr(why(&h, &g[1]), "until other guests have returned memory"));
    resize(&g[0], 3892 * MIB, 3892 * MIB); /* the donor has returned */
    h.free_bytes += 204 * MIB;
    run(&h, g, 2);
    ck_assert_int_eq(g[1].action, CONTROL_GROW);
    ck_assert_uint_le(g[1].target_bytes - g[1].input.actual_bytes, 205 * MIB);
    ck_assert_uint_ge(g[1].target_bytes - g[1].input.actual_bytes, 203 * MIB);
}

/* Nor does it get what it would be given. */
TEST(rules, growth_in_a_dry_run_takes_nothing_from_guests_that_act)
{
    struct control_host h = host(1338); /* 500 above hard */
    struct control_guest g[3] = {guest(), hungry(), hungry()};

    g[0].acts = g[2].acts = true;
    g[1].input.shares = 1000000;
    h.level = LEVEL_HIGH;
    run(&h, g, 3);
    ck_assert_int_eq(g[1].hold, HOLD_ROOM);
    ck_assert_uint_ge(g[2].target_bytes, 1499 * MIB);
    ck_assert_uint_le(h.waiting_bytes, 2048 * MIB);
    ck_assert_ptr_nonnull(strstr(why(&h, &g[2]), "MiB: what it touches, and headroom"));
    g[2] = guest();
    g[2].acts = true;
    run(&h, g, 3);
    ck_assert_int_eq(g[1].action, CONTROL_GROW);
    ck_assert_uint_eq(h.waiting_bytes, 0);
}

static struct control_guest rested(void)
{
    struct control_guest g = guest();

    rest(&g);
    g.state.pace.known_since_s = 1;
    return g;
}

/* How many decisions until an idle guest gives. */
static int decisions_until_it_gives(struct control_host *h, struct control_guest *g, size_t n)
{
    int decisions = 0;

    do {
        run(h, g, n);
        decisions++;
    } while (g[0].action != CONTROL_SHRINK && decisions < 100);
    return decisions;
}

TEST(rules, what_growth_waits_for_is_given_after_three_decisions)
{
    struct control_host h = host(2178); /* the level high */
    struct control_guest calm = rested(), g[2] = {rested(), hungry()};

    ck_assert_int_ge(decisions_until_it_gives(&h, &calm, 1), 61);
    h = host(2178);
    ck_assert_int_eq(decisions_until_it_gives(&h, g, 2), 3);
    ck_assert_uint_ge(h.waiting_bytes, 250 * MIB);
    /* Nor is the hour after its growth waited for, but a panic of its own is. */
    h = host(2178);
    g[0] = rested();
    g[0].state.pace.turned = true;
    g[0].state.pace.turned_at_s = h.now_s;
    run(&h, g, 2);
    ck_assert_ptr_nonnull(
        strstr(why(&h, &g[0]), "less is enough, and nothing is taken for 3590 s"));
    run(&h, g, 2);
    ck_assert_ptr_nonnull(strstr(why(&h, &g[0]), "less is enough, for 20 s of 20 so far"));
    ck_assert_int_eq(decisions_until_it_gives(&h, g, 2), 1);
    h = host(2178);
    g[0] = rested();
    g[0].state.pace.paused_until_s = h.now_s + 300;
    ck_assert_int_ge(decisions_until_it_gives(&h, g, 2), 30);
    h = host(2178);
    g[0] = rested();
    g[0].input.vetoes = VETO_VFIO;
    ck_assert_int_eq(decisions_until_it_gives(&h, g, 2), 100);
    /* As all are after a start, which forgets the pause after a panic. */
    h = host(2178);
    g[0] = rested();
    g[0].state.pace.known_since_s = 0;
    ck_assert_int_ge(decisions_until_it_gives(&h, g, 2), 60);
}

/* While a guest panics there is a decision every two seconds, by the same statistics. */
TEST(rules, decisions_that_follow_fast_take_no_sooner)
{
    struct control_host h = host(2178);
    struct control_guest g[2] = {rested(), hungry()};
    double began_s = h.now_s;

    while (g[0].action != CONTROL_SHRINK && h.now_s < began_s + 100) {
        control_run(&policy, &h, g, 2);
        h.now_s += 2;
    }
    ck_assert_double_ge(h.now_s - began_s, 20);
    ck_assert_double_le(h.now_s - began_s, 26);
}

TEST(rules, growth_that_reaches_no_guest_is_nothing_to_wait_for)
{
    struct control_host h = host(2178);
    struct control_guest g[2] = {rested(), hungry()};

    g[1].state.trouble = TROUBLE_NO_DRIVER;
    g[1].state.before_bytes = 4096 * MIB;
    run(&h, g, 2);
    ck_assert_uint_eq(h.waiting_bytes, 0);
    ck_assert_uint_gt(h.missing_bytes, 0);
    h = host(2178);
    g[1] = hungry();
    g[1].input.vetoes = VETO_PAUSED;
    run(&h, g, 2);
    ck_assert_uint_eq(h.waiting_bytes, 0);
    g[1].input.vetoes = 0;
    run(&h, g, 2);
    ck_assert_uint_gt(h.waiting_bytes, 0);
}

/* Nothing is known of a guest while its balloon is being proven. */
TEST(rules, a_decision_with_a_veto_is_none_that_wants_less)
{
    struct control_host h = host(800);
    struct control_guest g = rested();

    g.state.rest_since_s = h.now_s;
    ck_assert_int_eq(decisions_until_it_gives(&h, &g, 1), 7); /* four within thirty seconds */
    /* Nor one from which on it has wanted less for twenty seconds. */
    h = host(800);
    g = rested();
    g.state.rest_since_s = h.now_s;

    double valid_s = 0;

    while (g.action != CONTROL_SHRINK && h.now_s < 1200) {
        control_run(&policy, &h, &g, 1);
        if (valid_s == 0 && !g.decision.vetoes)
            valid_s = h.now_s;
        h.now_s += 2;
    }
    ck_assert_double_ge(valid_s, 1030);
    ck_assert_double_ge(h.now_s - 2 - valid_s, 20);
    ck_assert_double_le(h.now_s - 2 - valid_s, 24);
}

TEST(rules, below_hard_memory_is_given_after_three_decisions)
{
    struct control_host h = host(1600); /* soft is 1677 */
    struct control_guest g = rested();

    ck_assert_int_ge(decisions_until_it_gives(&h, &g, 1), 61);
    h = host(800); /* hard is 838 */
    g = rested();
    ck_assert_int_eq(decisions_until_it_gives(&h, &g, 1), 3);
}

/* Less than a MiB is not given, and is nothing to wait for. */
TEST(rules, a_fraction_of_a_mib_is_no_growth_that_waits)
{
    struct control_host h = host(3000);
    struct control_guest g[8];

    for (size_t i = 0; i < 8; i++) {
        g[i] = guest();
        resize(&g[i], 1000 * MIB, 1000 * MIB);
        g[i].input.guest.psi_some = 0.5; /* up to its share, of which there is no whole MiB */
        g[i].input.shares = 1 + 0.001 * (double)i;
    }
    h.free_bytes = 2622 * MIB;
    run(&h, g, 8);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_ne(g[i].hold, HOLD_ROOM);
    ck_assert_uint_eq(h.waiting_bytes, 0);
}

/* It grew, its load has gone, and it is asked for what it no longer needs. */
static double seconds_until_it_gives(uint64_t free_mib)
{
    struct control_host h = host(20000);
    struct control_guest g = hungry();

    policy.proactive = true;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_GROW);
    issue(&h, &g);
    resize(&g, g.target_bytes, g.target_bytes);
    run(&h, &g, 1);
    g.input.short_wss = g.input.mid_wss;
    h.free_bytes = free_mib * MIB;

    double gone_s = h.now_s;

    while (g.action != CONTROL_SHRINK && h.now_s < gone_s + 7200)
        run(&h, &g, 1);
    return h.now_s - gone_s;
}

TEST(rules, growth_is_a_reason_to_wait_unless_the_host_is_short)
{
    ck_assert_double_ge(seconds_until_it_gives(20000), 3500);
    ck_assert_double_ge(seconds_until_it_gives(2500), 3500); /* level high */

    double waited_s = seconds_until_it_gives(1600); /* soft is 1677 */

    ck_assert_double_ge(waited_s, 600);
    ck_assert_double_le(waited_s, 700);
}

/* A record is older than the order that turned a balloon on its way down: what was resident then
 * and has come back since is not what was touched of what was given. */
TEST(rules, what_is_given_is_pending_until_a_record_of_after_it)
{
    struct control_host h = host(1338); /* 500 above hard */
    struct control_guest g = hungry();

    h.level = LEVEL_SOFT;
    g.input.resident_bytes = 1400 * MIB;
    g.input.age_s = 15;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_GROW);
    ck_assert_uint_ge(g.target_bytes, 1499 * MIB);
    issue(&h, &g);
    g.input.actual_bytes = g.target_bytes;
    run(&h, &g, 1); /* nothing is touched yet: as much is free as before */
    ck_assert_uint_eq(g.target_bytes, g.input.actual_bytes);
    ck_assert_int_eq(g.hold, HOLD_ROOM);
    g.input.age_s = 1;
    run(&h, &g, 1); /* the guest has touched 400 MiB of it, as a new record says */
    ck_assert_int_eq(g.action, CONTROL_GROW);
}

TEST(rules, panic_gives_all_at_once_and_holds_off_for_longer_each_time)
{
    policy.proactive = true;
    resize(&g, 1000 * MIB, 1000 * MIB);
    g.input.guest.oom_kill = true;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_FULL);
    ck_assert_uint_eq(g.target_bytes, 4096 * MIB);
    issue(&h, &g);
    resize(&g, 4096 * MIB, 4096 * MIB);
    g.input.guest.oom_kill = false;

    double calm_s = h.now_s;

    while (g.action != CONTROL_SHRINK && h.now_s < calm_s + 7200)
        run(&h, &g, 1);
    ck_assert_double_ge(h.now_s - calm_s, 600);
    ck_assert_double_le(h.now_s - calm_s, 700);
    g.input.guest.oom_kill = true;
    run(&h, &g, 1);
    g.input.guest.oom_kill = false;
    calm_s = h.now_s;
    run(&h, &g, 1);
    ck_assert_int_eq(g.hold, HOLD_PAUSE);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "after its last panic"));
    while (g.action != CONTROL_SHRINK && h.now_s < calm_s + 7200)
        run(&h, &g, 1);
    ck_assert_double_ge(h.now_s - calm_s, 1180);
}

TEST(rules, panics_are_served_first)
{
    struct control_host h = host(2838); /* 2000 above hard */
    struct control_guest g[2] = {hungry(), hungry()};

    g[1].input.shares = 1; /* its rho is the lower */
    g[1].input.short_wss.low_bytes = 950 * MIB;
    run(&h, g, 2);
    ck_assert(g[1].decision.panics & PANIC_WSS);
    ck_assert_uint_ge(g[1].target_bytes, 2998 * MIB);
    ck_assert_int_eq(g[0].action, CONTROL_NONE);
    ck_assert_int_eq(g[0].hold, HOLD_ROOM);
}

/* Another guest has been given all that is free above hard, and has not touched it. */
TEST(rules, a_panic_takes_what_is_free_and_promised_to_another)
{
    struct control_host h = host(1338); /* 500 above hard, 919 above low */
    struct control_guest g[2] = {guest(), hungry()};

    run(&h, g, 2);
    rest(&g[0]);
    resize(&g[0], 4096 * MIB, 3596 * MIB);
    g[0].state.pending_bytes = 500 * MIB;
    g[1] = hungry();
    run(&h, g, 2);
    ck_assert_int_eq(g[1].hold, HOLD_ROOM);
    ck_assert_int_eq(g[1].action, CONTROL_NONE);
    g[1].input.short_wss.low_bytes = 950 * MIB;
    run(&h, g, 2);
    ck_assert_int_eq(g[1].action, CONTROL_GROW);
    ck_assert_uint_ge(g[1].target_bytes, 1050 * MIB); /* a quarter of its reserve */
    ck_assert_uint_le(g[1].target_bytes, 1052 * MIB);
    g[0].state.pending_bytes = 900 * MIB; /* less than low would be left */
    resize(&g[0], 4096 * MIB, 3196 * MIB);
    run(&h, g, 2);
    ck_assert_uint_le(g[1].target_bytes, 1020 * MIB);
}

/* --- trust ------------------------------------------------------------------------------------ */

TEST(rules, a_claim_beyond_the_share_takes_only_what_is_free_above_high)
{
    struct control_host h = host(3655); /* high is 2621, and left at 3276 */
    struct control_guest g[8];

    for (size_t i = 0; i < 8; i++)
        g[i] = guest();
    settle(&h, g, 8);
    resize(&g[0], 4000 * MIB, 4000 * MIB);
    g[0].state = (struct balloon_state){0};
    g[0].input.assigned_bytes = 8192 * MIB;
    g[0].input.shares = 1000;
    g[0].input.guest.oom_kill = true;
    run(&h, g, 8);
    ck_assert_uint_lt(g[0].share_bytes, 4000 * MIB);
    ck_assert_uint_le(g[0].target_bytes, 4379 * MIB);
    ck_assert_int_eq(g[0].hold, HOLD_SHARE);
    ck_assert_ptr_nonnull(strstr(why(&h, &g[0]), "it claims 8192 MiB, but its share"));
    for (size_t i = 1; i < 8; i++)
        ck_assert_int_eq(g[i].action, CONTROL_NONE);
}

/* The lower bound of what is free wanders by noise; donors are asked for nothing on its account. */
TEST(rules, a_claim_takes_nothing_from_donors_through_the_hysteresis)
{
    struct control_host h = host(3300); /* high is left at 3276 */
    struct control_guest g[2] = {guest(), guest()};
    uint64_t random = 7;

    settle(&h, g, 2);
    resize(&g[0], 1024 * MIB, 1024 * MIB);
    g[0].state = (struct balloon_state){0};
    g[0].input.shares = 1;
    for (int i = 0; i < 2000; i++) {
        uint64_t had = g[0].input.actual_bytes;
        uint64_t noise = random_next(&random) % (400 * MIB);

        g[0].input.guest.oom_kill = true;
        h.free_bytes += noise;
        run(&h, g, 2);
        h.free_bytes -= noise;
        ck_assert_int_ne(g[1].action, CONTROL_SHRINK);
        if (g[0].action == CONTROL_NONE)
            continue;
        issue(&h, &g[0]);
        resize(&g[0], g[0].target_bytes, g[0].target_bytes);
        h.free_bytes -= g[0].target_bytes - had;
    }
    /* The liar is refused the donor's memory, for whatever reason the host is short. */
    h.free_bytes = 2500 * MIB;
    for (int i = 0; i < 200; i++) {
        uint64_t had[2] = {g[0].input.actual_bytes, g[1].input.actual_bytes};

        run(&h, g, 2);
        for (int k = 0; k < 2; k++) {
            if (g[k].action == CONTROL_NONE)
                continue;
            issue(&h, &g[k]);
            resize(&g[k], g[k].target_bytes, g[k].target_bytes);
            h.free_bytes += had[k] - g[k].target_bytes;
        }
    }
    ck_assert_uint_ge(g[1].input.actual_bytes, (4096 - 1100) * MIB);
}

/* --- what balloons do ------------------------------------------------------------------------- */

TEST(rules, a_balloon_that_stalls_settles_where_it_is)
{
    begin_shrink(&h, &g);
    resize(&g, 4000 * MIB, 4000 * MIB);
    run(&h, &g, 1);
    ck_assert_int_eq(g.hold, HOLD_MOVING);
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_SETTLE);
    ck_assert_uint_eq(g.target_bytes, 4000 * MIB);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "has stopped moving"));
    issue(&h, &g);
    run(&h, &g, 1);
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
    ck_assert_int_eq(g.action, CONTROL_NONE);
    for (int i = 0; i < 5 && g.action == CONTROL_NONE; i++) /* once that is proven */
        run(&h, &g, 1);
    ck_assert_int_eq(g.action, CONTROL_SHRINK);
}

/* A MiB a decision would take all night, and a byte at a time for ever. */
TEST(rules, a_balloon_that_creeps_settles_where_it_is)
{
    begin_shrink(&h, &g);
    resize(&g, g.input.actual_bytes - 4096, 4096 * MIB);
    run(&h, &g, 1);
    resize(&g, g.input.actual_bytes - 4096, 4096 * MIB);
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_SETTLE); /* that is no progress */
    g.state = (struct balloon_state){0};
    begin_shrink(&h, &g);
    for (int i = 0; i < 7 && g.action != CONTROL_SETTLE; i++) {
        resize(&g, g.input.actual_bytes - 2 * MIB, 4096 * MIB);
        run(&h, &g, 1);
    }
    ck_assert_int_eq(g.action, CONTROL_SETTLE);
}

TEST(rules, a_guest_without_driver_is_inhibited)
{
    begin_shrink(&h, &g);
    for (int i = 0; i < 10; i++) {
        run_and_issue(&h, &g);
    }
    ck_assert_int_eq(g.state.trouble, TROUBLE_NO_DRIVER);
    ck_assert_int_eq(g.hold, HOLD_INHIBITED);
    ck_assert_int_eq(g.action, CONTROL_NONE);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "no driver"));
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_NONE);
}

/* A guest that has given before and has nothing left has a driver. */
TEST(rules, a_guest_that_has_nothing_left_has_a_driver)
{
    begin_shrink(&h, &g);
    resize(&g, g.target_bytes, g.target_bytes);
    for (int i = 0; i < 40 && g.state.trouble == TROUBLE_NONE; i++) {
        run_and_issue(&h, &g);
    }
    ck_assert_int_eq(g.state.trouble, TROUBLE_NO_DRIVER);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "its balloon moved before"));
    ck_assert_ptr_null(strstr(why(&h, &g), "no driver for it"));
}

/* libvirtd ended at each order: nothing moves, and that is not for want of a driver. */
TEST(rules, orders_that_failed_do_not_inhibit)
{
    unsigned n = 0;

    begin_shrink(&h, &g);
    g.state.unsure = true;
    for (int i = 0; i < 20; i++) {
        run(&h, &g, 1);
        if (g.action == CONTROL_NONE)
            continue;
        n += g.action == CONTROL_SHRINK;
        issue(&h, &g);
        g.state.unsure = true;
    }
    ck_assert_uint_ge(n, 3);
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
}

TEST(rules, a_panic_whose_order_failed_is_served_at_once)
{
    h = host(7000); /* not enough to give it twice */
    settle(&h, &g, 1);
    resize(&g, 1024 * MIB, 1024 * MIB);
    rest(&g);
    g.input.guest.available_bytes = 10 * MIB;
    run(&h, &g, 1);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(g.action, CONTROL_FULL);
        ck_assert_uint_eq(g.target_bytes, 4096 * MIB);
        issue(&h, &g);
        g.state.unsure = true;
        ck_assert_uint_eq(g.state.pending_bytes, 3072 * MIB);
        run_at_once(&h, &g);
    }
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
    issue(&h, &g);
    ck_assert_int_eq(run_at_once(&h, &g), CONTROL_NONE); /* libvirt has taken it */
    ck_assert_int_eq(g.hold, HOLD_MOVING);
}

TEST(rules, a_panic_is_served_without_a_driver)
{
    resize(&g, 1024 * MIB, 1024 * MIB);
    rest(&g);
    g.state.trouble = TROUBLE_NO_DRIVER;
    g.input.guest.available_bytes = 10 * MIB;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_FULL);
    ck_assert_uint_eq(g.target_bytes, 4096 * MIB);
}

TEST(rules, a_balloon_that_returns_nothing_is_inhibited_and_restored)
{
    begin_shrink(&h, &g);
    resize(&g, g.target_bytes, 4096 * MIB);
    run(&h, &g, 1);
    for (int i = 0; i < 3 && g.state.trouble == TROUBLE_NONE; i++) {
        ck_assert(!balloon_is_inhibited(&g.state));
        g.state.moving = false; /* no further step */
        run(&h, &g, 1);
    }
    run(&h, &g, 1);
    ck_assert_int_eq(g.state.trouble, TROUBLE_NO_RETURN);
    ck_assert_int_eq(g.action, CONTROL_RESTORE);
    ck_assert_uint_eq(g.target_bytes, 4096 * MIB);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "it gets back what it had; inhibited"));
}

/* 256 MiB guests have less than 64 MiB a step: it is noticed all the same. */
TEST(rules, nothing_more_is_taken_until_the_last_step_has_come_back)
{
    begin_shrink(&h, &g);
    for (int i = 0; i < 60 && g.state.trouble == TROUBLE_NONE; i++) {
        resize(&g, g.state.set_bytes, 4096 * MIB);
        run_and_issue(&h, &g);
    }
    ck_assert_int_eq(g.state.trouble, TROUBLE_NO_RETURN);
    ck_assert_uint_eq(g.input.actual_bytes, 3892 * MIB); /* the first step */
}

TEST(rules, another_hand_is_noticed_under_way)
{
    resize(&g, 4000 * MIB, 4000 * MIB);
    begin_shrink(&h, &g);
    resize(&g, 4096 * MIB, 4096 * MIB);
    run(&h, &g, 1);
    ck_assert_int_eq(g.hold, HOLD_FOREIGN);
}

/* As after a restart: what the controller before this one gives back is on its way. */
TEST(rules, what_it_has_under_way_is_not_what_it_had)
{
    struct control_host h = host(20000);
    struct control_guest g = hungry();

    g.state = (struct balloon_state){0};
    for (uint64_t mib = 1000; mib <= 2000; mib += 500) {
        resize(&g, mib * MIB, mib * MIB);
        ck_assert_int_eq(run(&h, &g, 1), CONTROL_NONE);
        ck_assert_int_eq(g.hold, HOLD_MOVING);
        ck_assert_ptr_nonnull(strstr(why(&h, &g), "not been seen at rest yet"));
    }
    run(&h, &g, 1); /* it rests */
    ck_assert_int_eq(g.action, CONTROL_GROW);
    issue(&h, &g);
    ck_assert_uint_eq(g.state.before_bytes, 2000 * MIB);
}

TEST(rules, a_panic_under_way_leaves_it_all_in_the_end)
{
    resize(&g, 1000 * MIB, 1000 * MIB);
    g.input.guest.oom_kill = true;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_FULL);
    issue(&h, &g);
    ck_assert_uint_eq(g.state.before_bytes, 4096 * MIB);
}

/* As after a restart: the controller before this one has just given back what it had taken. */
TEST(rules, what_was_on_its_way_before_us_is_no_hand)
{
    for (uint64_t mib = 3000; mib <= 4000; mib += 500) {
        resize(&g, mib * MIB, mib * MIB);
        run(&h, &g, 1);
        ck_assert_int_ne(g.hold, HOLD_FOREIGN);
    }
    run(&h, &g, 1); /* it rests */
    resize(&g, 3000 * MIB, 3000 * MIB);
    run(&h, &g, 1);
    ck_assert_int_eq(g.hold, HOLD_FOREIGN);
}

TEST(rules, another_hand_is_left_alone_for_an_hour)
{
    begin_shrink(&h, &g);
    resize(&g, g.target_bytes, g.target_bytes);
    run(&h, &g, 1);
    g.state.moving = false;
    resize(&g, 3000 * MIB, 3000 * MIB);
    run(&h, &g, 1);
    ck_assert_int_eq(g.hold, HOLD_FOREIGN);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "another program moved its balloon"));
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_NONE);
    control_restore(&h, RESTORE_BEFORE, &g, 1);
    ck_assert_int_eq(g.action, CONTROL_NONE); /* and not restored */
    h.now_s += 3600;
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_SHRINK);
}

TEST(rules, a_panic_is_served_whoever_moved_the_balloon)
{
    run(&h, &g, 1);
    run(&h, &g, 1);
    resize(&g, 1000 * MIB, 1000 * MIB);
    run(&h, &g, 1);
    ck_assert_int_eq(g.hold, HOLD_FOREIGN);
    g.input.guest.oom_kill = true;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_FULL);
    ck_assert_uint_eq(g.target_bytes, 4096 * MIB);
}

/* As libvirt shows a DIMM: M and B rise alike, and M may be known first. */
static void plug(struct control_guest *guest, int64_t mib, bool followed)
{
    guest->input.assigned_bytes += (uint64_t)mib * MIB;
    if (followed)
        resize(guest, guest->input.actual_bytes + (uint64_t)mib * MIB, 1000 * MIB);
}

TEST(rules, a_dimm_is_no_other_hand)
{
    static const int64_t dimms[] = {4096, 256, 128, -256, -1024};

    for (size_t i = 0; i < 4 * COUNT(dimms); i++) {
        const int64_t mib = dimms[i / 4];
        const bool under_way = i & 1;
        const bool late = i & 2;
        struct control_host h = host(2500);
        struct control_guest g = guest();

        rest(&g);
        begin_shrink(&h, &g);
        ck_assert_uint_eq(g.target_bytes, 3892 * MIB);
        resize(&g, under_way ? 4000 * MIB : 3892 * MIB, 4000 * MIB);
        if (!under_way)
            run(&h, &g, 1);
        h.free_bytes = 30000 * MIB;
        plug(&g, mib, !late);
        run_at_once(&h, &g);
        if (late) {
            ck_assert_int_eq(g.hold, HOLD_MOVING);
            ck_assert(under_way || strstr(why(&h, &g), "plugged or unplugged"));
            resize(&g, g.input.actual_bytes + (uint64_t)mib * MIB, 1000 * MIB);
            run_at_once(&h, &g);
        }
        ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
        if (under_way) {
            ck_assert_uint_eq(g.state.set_bytes, (uint64_t)(3892 + mib) * MIB);
            resize(&g, (uint64_t)(3892 + mib) * MIB, 1000 * MIB);
        }
        settle(&h, &g, 1);
        ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
        ck_assert_uint_eq(g.state.before_bytes, (uint64_t)(4096 + mib) * MIB);
        control_restore(&h, RESTORE_BEFORE, &g, 1);
        ck_assert_int_eq(g.action, CONTROL_RESTORE);
        ck_assert_uint_eq(g.target_bytes, (uint64_t)(4096 + mib) * MIB);
    }
}

/* Memory of virtio-mem that its guest does not plug: M is more, and nothing has moved. */
TEST(rules, what_is_not_plugged_is_no_other_hand)
{
    h = host(2500);
    begin_shrink(&h, &g);
    resize(&g, 3892 * MIB, 3892 * MIB);
    run(&h, &g, 1);
    h.free_bytes = 30000 * MIB;
    plug(&g, 1024, false);
    settle(&h, &g, 1);
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
    ck_assert_uint_eq(g.state.before_bytes, 4096 * MIB);
    resize(&g, 2000 * MIB, 2000 * MIB); /* another hand is still noticed */
    run(&h, &g, 1);
    ck_assert_int_eq(g.state.trouble, TROUBLE_FOREIGN);
}

TEST(rules, a_panic_does_not_wait_for_a_dimm)
{
    h = host(2500);
    rest(&g);
    begin_shrink(&h, &g);
    resize(&g, 3892 * MIB, 3892 * MIB);
    run(&h, &g, 1);
    h.free_bytes = 30000 * MIB;
    plug(&g, 1024, false);
    g.input.guest.available_bytes = 10 * MIB;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_FULL);
    ck_assert_uint_eq(g.target_bytes, 5120 * MIB);
    issue(&h, &g);
    ck_assert_uint_eq(g.state.before_bytes, 5120 * MIB);
}

TEST(rules, a_size_noted_before_a_dimm_is_shifted)
{
    struct control_guest g = guest();

    plug(&g, 256, false);
    resize(&g, (450 + 256) * MIB, 450 * MIB);
    g.input.assigned_bytes = 896 * MIB;
    ck_assert_uint_eq(balloon_shifted(640 * MIB, 450 * MIB, 640 * MIB, &g.input), 896 * MIB);
    ck_assert_uint_eq(balloon_shifted(640 * MIB, 450 * MIB, 0, &g.input), 640 * MIB);
    resize(&g, 500 * MIB, 450 * MIB); /* its balloon has moved as well */
    ck_assert_uint_eq(balloon_shifted(640 * MIB, 450 * MIB, 640 * MIB, &g.input), 640 * MIB);
}

/* --- what the owner holds back -----------------------------------------------------------------
 */

static void make_busy(struct control_guest *guest, int how)
{
    struct decide_input *input = &guest->input;

    if (how == 0)
        input->mid_wss.high_bytes = input->long_wss.high_bytes = 1900 * MIB;
    if (how == 1) {
        input->guest.psi_full = 0.5;
        input->guest.available_bytes = 300 * MIB;
    }
    if (how == 2)
        input->guest.available_bytes = 10 * MIB;
    if (how == 3)
        input->short_wss.low_bytes = 1990 * MIB;
    if (how == 4)
        input->guest.oom_kill = input->stalled = true;
    if (how == 5)
        input->reserved_bytes = 3000 * MIB;
}

/* <memory> 4 GiB, <currentMemory> 2 GiB, an ample host. */
TEST(rules, what_its_owner_holds_back_is_not_given)
{
    for (int how = 0; how <= 5; how++) {
        struct control_host h = host(30000);
        struct control_guest g = guest();

        g.allowed_bytes = 0;
        resize(&g, 2048 * MIB, 2048 * MIB);
        run(&h, &g, 1);
        run(&h, &g, 1);
        make_busy(&g, how);
        for (int i = 0; i < 70; i++) {
            run(&h, &g, 1);
            ck_assert_msg(g.action == CONTROL_NONE, "%d: %s", how, why(&h, &g));
        }
        ck_assert_msg(strstr(why(&h, &g), "no more than 2048 of 4096 MiB"), "%d: %s", how,
                      why(&h, &g));
        control_restore(&h, RESTORE_BEFORE, &g, 1);
        ck_assert_int_eq(g.action, CONTROL_NONE);
        g.allowed_bytes = 3000 * MIB;
        run(&h, &g, 1);
        ck_assert_uint_le(g.target_bytes, 3000 * MIB);
        ck_assert_uint_gt(g.target_bytes, 2048 * MIB);
    }
}

TEST(rules, what_it_had_at_the_start_is_given_back_and_no_more)
{
    h = host(2000);
    g.allowed_bytes = 0;
    resize(&g, 2048 * MIB, 2048 * MIB);
    rest(&g);
    begin_shrink(&h, &g);
    resize(&g, g.target_bytes, 1000 * MIB);
    run(&h, &g, 1);
    h.free_bytes = 30000 * MIB;
    g.input.guest.available_bytes = 10 * MIB;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_FULL);
    ck_assert_uint_eq(g.target_bytes, 2048 * MIB);
    issue(&h, &g);
    resize(&g, 2048 * MIB, 2048 * MIB);
    run(&h, &g, 1);
    resize(&g, 3000 * MIB, 2048 * MIB); /* virsh setmem: the owner has given it more */
    run(&h, &g, 1);
    resize(&g, 2500 * MIB, 2500 * MIB);
    g.input.guest.available_bytes = 10 * MIB;
    run(&h, &g, 1);
    ck_assert_uint_eq(g.target_bytes, 3000 * MIB);
}

/* QEMU starts with all of it, and the guest's driver takes the rest once it is loaded. */
TEST(rules, a_start_is_over_when_the_driver_has_taken_what_is_held_back)
{
    h = host(30000);
    g.allowed_bytes = 0;
    g.input.up_s = 0;
    for (int i = 0; i < 3; i++, g.input.up_s += EVERY_S)
        run(&h, &g, 1);
    resize(&g, 3000 * MIB, 1000 * MIB);
    g.input.guest.oom_kill = true;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_NONE);
    resize(&g, 2048 * MIB, 1000 * MIB);
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_NONE);
    for (int i = 0; i < 5; i++)
        run(&h, &g, 1);
    ck_assert_int_eq(g.action, CONTROL_NONE);
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
    ck_assert_uint_eq(g.state.limit_bytes, 2048 * MIB);
}

/* Guests that were shrunk to 2 GiB for a shortage that is over. */
static void shrunk(struct control_guest *guest)
{
    resize(guest, 2048 * MIB, 2048 * MIB);
    rest(guest);
    guest->state.before_bytes = 4096 * MIB;
}

static void follow(struct control_host *h, struct control_guest *guest)
{
    if (guest->action == CONTROL_NONE)
        return;
    issue(h, guest);
    resize(guest, guest->target_bytes, guest->input.resident_bytes);
}

TEST(rules, an_ample_host_gives_back_in_steps)
{
    struct control_host h = host(20000);
    struct control_guest g[2] = {guest(), guest()};
    int n = 0;

    shrunk(&g[0]);
    shrunk(&g[1]);
    for (int i = 0; i < 400 && g[0].input.actual_bytes < 4096 * MIB; i++) {
        uint64_t was = g[0].input.actual_bytes;

        run(&h, g, 2);
        if (i < 59)
            ck_assert_int_eq(g[0].action, CONTROL_NONE);
        n += g[0].action != CONTROL_NONE;
        ck_assert_uint_le(g[0].target_bytes - was, 256 * MIB);
        if (g[0].action != CONTROL_NONE)
            ck_assert_ptr_nonnull(strstr(why(&h, &g[0]), "gets back in steps"));
        follow(&h, &g[0]);
        follow(&h, &g[1]);
    }
    ck_assert_uint_eq(g[0].input.actual_bytes, 4096 * MIB);
    ck_assert_uint_eq(g[1].input.actual_bytes, 4096 * MIB);
    ck_assert_int_gt(n, 7);
    h.free_bytes = 2000 * MIB; /* at the level high: not within an hour */
    run(&h, g, 2);
    run(&h, g, 2);
    ck_assert_int_eq(run(&h, g, 2), CONTROL_NONE);
}

TEST(rules, who_waits_gets_back_first_and_at_once)
{
    for (int proactive = 0; proactive < 2; proactive++)
        for (int how = 0; how < 3; how++) {
            struct control_host h = host(3400); /* 124 above 1.25 times high */
            struct control_guest g[2] = {guest(), guest()};

            policy.proactive = proactive;
            shrunk(&g[0]);
            shrunk(&g[1]);
            g[0].input.shares = 100000;
            g[1].input.guest.psi_some = how == 0 ? 0.03 : 0;
            g[1].input.guest.refault_bytes_s = how == 1 ? MIB / 2.0 : 0;
            g[1].input.guest.near_or_above = how == 2;
            for (int i = 0; i < 6 && g[1].action == CONTROL_NONE; i++)
                run(&h, g, 2);
            ck_assert_int_eq(g[1].action, CONTROL_GROW);
            ck_assert_uint_gt(g[1].target_bytes, 2048 * MIB);
            ck_assert_int_eq(g[0].action, CONTROL_NONE);
            ck_assert_uint_le(g[1].target_bytes, 2048 * MIB + 124 * MIB);
            h.room_bytes = 4000 * MIB; /* vmwss balloon make-room */
            run(&h, g, 2);
            ck_assert_int_eq(g[1].action, CONTROL_NONE);
        }
}

/* Containers at limits of their own: 10 of 16 GiB are available, and the guest waits all the time.
 */
TEST(rules, pressure_that_memory_does_not_cure_takes_from_no_other)
{
    for (int stalls = 0; stalls < 2; stalls++) {
        struct control_host h = host(2000);
        struct control_guest g[2] = {guest(), guest()};

        resize(&g[0], 3000 * MIB, 3000 * MIB);
        rest(&g[0]);
        g[0].state.before_bytes = 4096 * MIB;
        g[0].input.guest.available_bytes = 1800 * MIB;
        g[0].input.guest.psi_some = 0.15;
        g[0].input.guest.psi_full = 0.03;
        g[0].input.stalled = stalls;
        run(&h, g, 2);
        ck_assert_uint_eq(g[0].decision.panics, 0);
        ck_assert(g[0].decision.vetoes & VETO_PRESSURE);
        ck_assert_int_eq(g[0].action, CONTROL_NONE);
        ck_assert_uint_eq(h.waiting_bytes, 0);
    }
}

/* It gets a part of what it claims, that does not help, and the rest is not waited for. */
TEST(rules, growth_that_did_not_lower_pressure_is_not_repeated)
{
    h = host(4000);
    resize(&g, 1000 * MIB, 1000 * MIB);
    rest(&g);
    g.state.before_bytes = 4096 * MIB;
    g.input.guest.available_bytes = 300 * MIB;
    g.input.guest.psi_some = 0.4;
    run(&h, &g, 1);
    ck_assert_uint_eq(g.decision.panics, PANIC_PSI_SOME);
    ck_assert_int_eq(g.action, CONTROL_GROW);
    issue(&h, &g);
    resize(&g, g.target_bytes, g.target_bytes);
    g.input.guest.available_bytes = 300 * MIB;
    h.free_bytes = 900 * MIB;
    run(&h, &g, 1);
    for (int i = 0; i < 5; i++)
        run(&h, &g, 1);
    ck_assert_uint_eq(g.decision.panics, 0);
    ck_assert_uint_eq(h.waiting_bytes, 0);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "which more memory did not lower"));
    g.input.guest.psi_some = 0; /* what it waits for later is another matter */
    run(&h, &g, 1);
    g.input.guest.psi_some = 0.4;
    run(&h, &g, 1);
    run(&h, &g, 1);
    ck_assert_uint_eq(g.decision.panics, PANIC_PSI_SOME);
}

/* Another rule takes 100 MiB every ten seconds, of a guest that needs all it has. */
TEST(rules, two_controllers_do_not_fight)
{
    unsigned ups = 0;

    resize(&g, 4096 * MIB, 4096 * MIB);
    rest(&g);
    g.input.guest.available_bytes = 146 * MIB;
    for (int i = 0; i < 360; i++) {
        if (g.input.actual_bytes > 1024 * MIB)
            resize(&g, g.input.actual_bytes - 100 * MIB, 4000 * MIB);
        g.input.guest.available_bytes = 46 * MIB;
        run(&h, &g, 1);
        if (g.action == CONTROL_NONE)
            continue;
        ups++;
        issue(&h, &g);
        resize(&g, g.target_bytes, 4000 * MIB);
    }
    ck_assert_uint_ge(ups, 3); /* a guest in need is not given up */
    ck_assert_uint_le(ups, 8);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "two controllers are at work"));
    h.now_s += 3600; /* it has gone */
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_FULL);
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
}

/* With deflate-on-oom, where it has nothing else left. */
TEST(rules, a_guest_that_deflates_by_itself_is_no_other_hand)
{
    for (int under_way = 0; under_way < 2; under_way++) {
        g = guest();
        begin_shrink(&h, &g);
        resize(&g, 3892 * MIB, 3892 * MIB);
        if (under_way)
            g.state.set_bytes = 3000 * MIB;
        run(&h, &g, 1);
        resize(&g, 3950 * MIB, 3950 * MIB);
        run(&h, &g, 1);
        ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
        ck_assert_int_eq(g.action, CONTROL_SETTLE);
        ck_assert_uint_eq(g.target_bytes, 3950 * MIB);
        ck_assert_uint_eq(g.state.before_bytes, 4096 * MIB);
        issue(&h, &g);
        g.input.guest.available_bytes = 10 * MIB;
        ck_assert_int_eq(run(&h, &g, 1), CONTROL_FULL);
    }
}

TEST(rules, an_adopted_balloon_in_motion_is_ours)
{
    resize(&g, 3950 * MIB, 3950 * MIB);
    balloon_adopt(&g.state, &policy.balloon, &g.input, 4096 * MIB, 3892 * MIB, h.now_s);
    run(&h, &g, 1);
    ck_assert_int_eq(g.hold, HOLD_MOVING);
    resize(&g, 3892 * MIB, 3892 * MIB);
    run(&h, &g, 1);
    ck_assert_int_eq(g.state.trouble, TROUBLE_NONE);
    ck_assert(g.state.proving);
    ck_assert_uint_eq(g.state.before_bytes, 4096 * MIB);
}

/* --- statistics ------------------------------------------------------------------------------- */

/* Uses 3000 MiB of 4096, touches 200, and its statistics are those of the last record: a minute
 * apart, and a minute late. Its balloon follows at once. */
TEST(rules, the_floor_does_not_sink_with_the_balloon)
{
    const uint64_t used = 3000 * MIB;
    uint64_t available = 1096 * MIB, next = available;

    policy.proactive = true;
    g.input.period_s = g.input.guest.period_s = 60;
    for (int i = 0; i < 1000; i++) {
        if (i % 6 == 0) {
            available = next;
            next = less(g.input.actual_bytes, used);
        }
        g.input.guest.available_bytes = available;
        g.input.guest.age_s = 60 + i % 6 * EVERY_S;
        run(&h, &g, 1);
        ck_assert_uint_ge(g.target_bytes, used + decide_reserve(&policy.decide, 4096 * MIB));
        if (g.action == CONTROL_NONE)
            continue;
        issue(&h, &g);
        g.input.actual_bytes = g.input.resident_bytes = g.target_bytes;
    }
    ck_assert_uint_le(g.input.actual_bytes, 3300 * MIB); /* it went there, and no further */
}

/* Statistics from before a growth must not cause it again. */
TEST(rules, growth_is_not_repeated_on_old_statistics)
{
    resize(&g, 1000 * MIB, 1000 * MIB);
    g.input.guest.period_s = 60;
    run(&h, &g, 1);
    g.input.guest.available_bytes = 150 * MIB;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_GROW);
    issue(&h, &g);
    g.input.actual_bytes = g.target_bytes;
    for (int i = 0; i < 6; i++) {
        g.input.guest.age_s += EVERY_S;
        ck_assert_int_eq(run(&h, &g, 1), CONTROL_NONE);
    }
}

TEST(rules, without_statistics_nothing_is_taken)
{
    struct control_host h = host(20000);
    struct control_guest g[2] = {guest(), guest()};

    policy.proactive = true;
    g[0].input.guest.reported = false;
    g[1].input.guest.consistency = 0.1;
    settle(&h, g, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(g[i].action, CONTROL_NONE);
        ck_assert_ptr_nonnull(strstr(why(&h, &g[i]), "nothing is taken without fresh statistics"));
    }
    policy.decide.needs_statistics = false;
    run(&h, g, 2);
    ck_assert_int_eq(settle(&h, g, 2), CONTROL_SHRINK);
    ck_assert_int_eq(g[1].action, CONTROL_SHRINK);
}

TEST(rules, a_distrusted_guest_claims_no_more_than_it_had)
{
    begin_shrink(&h, &g);
    g.state.before_bytes = 3950 * MIB;
    resize(&g, 3892 * MIB, 3892 * MIB);
    run(&h, &g, 1);
    g.input.guest.consistency = 0.1;
    g.input.guest.oom_kill = true;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_GROW);
    ck_assert_uint_eq(g.target_bytes, 3950 * MIB);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "no more than it had is given back"));
}

/* Its agent reports stalls, and its statistics are old or missing. */
TEST(rules, a_stall_without_statistics_gives_back_what_it_had)
{
    policy.decide.needs_statistics = false;
    begin_shrink(&h, &g);
    resize(&g, 3892 * MIB, 3892 * MIB);
    run(&h, &g, 1);
    g.input.guest.reported = false;
    g.input.stalled = true;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_GROW);
    ck_assert_uint_eq(g.target_bytes, 4096 * MIB);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "it waited for memory a moment ago"));
    g = guest();
    g.input.guest.reported = false;
    g.input.stalled = true;
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_NONE);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* It was given more than it had, and uses that by now. */
TEST(rules, the_end_lowers_nothing)
{
    static const enum control_restore all[] = {RESTORE_BEFORE, RESTORE_MAX, RESTORE_HOLD};
    struct control_host h = host(20000);
    struct control_guest g = hungry();

    ck_assert_int_eq(run(&h, &g, 1), CONTROL_GROW);
    issue(&h, &g);
    resize(&g, g.target_bytes, g.target_bytes);
    g.input.short_wss = (struct decide_wss){60, 100 * MIB, 200 * MIB};
    run(&h, &g, 1);
    g.decision.wanted_bytes = 500 * MIB;
    for (int i = 0; i < 3; i++) {
        g.hold = HOLD_ROOM; /* it asked for more than the host could give */
        control_restore(&h, all[i], &g, 1);
        ck_assert_uint_ge(g.target_bytes, 2605 * MIB);
        ck_assert_int_eq(g.hold, HOLD_NONE); /* what it is to be left with it gets */
    }
}

TEST(rules, the_end_restores_within_what_is_free)
{
    struct control_host h = host(20000);
    struct control_guest g[2] = {guest(), guest()};

    policy.proactive = true;
    settle(&h, g, 2);
    for (int i = 0; i < 2; i++) {
        issue(&h, &g[i]);
        resize(&g[i], g[i].target_bytes, g[i].target_bytes);
        balloon_observe(&g[i].state, &policy.balloon, &g[i].input, h.now_s);
    }
    control_restore(&h, RESTORE_BEFORE, g, 2);
    ck_assert_int_eq(g[0].action, CONTROL_RESTORE);
    ck_assert_uint_eq(g[0].target_bytes, 4096 * MIB);
    ck_assert_uint_eq(g[1].target_bytes, 4096 * MIB);
    h.free_bytes = 1138 * MIB + MIB; /* 300 above hard */
    control_restore(&h, RESTORE_BEFORE, g, 2);
    ck_assert_uint_eq(g[0].target_bytes, 4096 * MIB);
    ck_assert_uint_lt(g[1].target_bytes, 4000 * MIB);
    ck_assert_int_eq(g[1].hold, HOLD_ROOM);
    control_restore(&h, RESTORE_HOLD, g, 2);
    ck_assert_int_eq(g[0].action, CONTROL_NONE);
}

/* --- what must hold of anything ----------------------------------------------------------------
 */

#define N_GUESTS 6

struct world {
    uint64_t random;
    struct control_host host;
    struct control_guest guests[N_GUESTS];
    uint64_t used[N_GUESTS];
};

static uint64_t any(struct world *world, uint64_t most)
{
    return most == 0 ? 0 : random_next(&world->random) % most;
}

/* Any working set within what is resident; any claims. */
static void change_guest(struct world *world, struct control_guest *g)
{
    struct decide_input *in = &g->input;
    struct decide_wss *wss[] = {&in->short_wss, &in->mid_wss, &in->long_wss};
    uint64_t high = 0;

    for (size_t w = 0; w < 3; w++) {
        high = larger(high, any(world, in->resident_bytes + 1));
        wss[w]->high_bytes = high;
        wss[w]->low_bytes = any(world, high + 1);
    }
    in->guest.reported = any(world, 4) != 0;
    in->guest.consistency = (double)any(world, 100) / 100;
    in->guest.available_bytes = any(world, in->actual_bytes + 1);
    in->guest.psi_some = any(world, 8) == 0 ? 0.3 : 0;
    in->guest.oom_kill = any(world, 50) == 0;
    in->vetoes = any(world, 10) == 0 ? VETO_VFIO : 0;
}

static void make_world(struct world *world, uint64_t seed)
{
    *world = (struct world){0};
    world->random = seed;
    world->host = host(0);
    world->host.free_bytes = 4000 * MIB + any(world, 4000 * MIB);
    for (size_t i = 0; i < N_GUESTS; i++) {
        struct control_guest *g = &world->guests[i];

        *g = guest();
        g->input.reserved_bytes = any(world, 2) ? any(world, 4096 * MIB) : 0;
        g->input.shares = any(world, 3) ? 0 : (double)(1 + any(world, 10000));
    }
    policy.proactive = any(world, 2);
}

/* Balloons follow as drivers do: all the way, in part, or not at all; grown guests touch what they
 * were given some time. */
static void carry_out(struct world *world, struct control_guest *g)
{
    struct decide_input *in = &g->input;
    uint64_t set = g->state.moving ? g->state.set_bytes : in->actual_bytes;
    uint64_t before = in->resident_bytes;

    if (set < in->actual_bytes)
        in->actual_bytes -= any(world, in->actual_bytes - set + 1);
    else
        in->actual_bytes = set;
    if (in->actual_bytes < before)
        in->resident_bytes = in->actual_bytes;
    else if (any(world, 4) == 0)
        in->resident_bytes += any(world, in->actual_bytes - before + 1);
    world->host.free_bytes = world->host.free_bytes + before - in->resident_bytes;
}

static void check_orders(struct world *world)
{
    const uint64_t hard = world->host.levels.threshold_bytes[LEVEL_HARD];
    uint64_t granted = 0, urgent = 0;

    for (size_t i = 0; i < N_GUESTS; i++) {
        const struct control_guest *g = &world->guests[i];
        uint64_t actual = g->input.actual_bytes;
        uint64_t grows = less(g->target_bytes, balloon_given(&g->state, &g->input));

        ck_assert_uint_le(g->target_bytes, g->input.assigned_bytes);
        if (g->action == CONTROL_SHRINK) {
            ck_assert_uint_lt(g->target_bytes, actual);
            ck_assert_uint_ge(g->target_bytes, g->decision.floor_bytes);
            ck_assert_uint_ge(g->target_bytes, g->decision.wanted_bytes);
            ck_assert_uint_ge(g->target_bytes,
                              smaller(g->input.reserved_bytes, g->input.assigned_bytes));
            ck_assert_uint_ge(g->target_bytes, actual - actual / 20 - MIB);
            ck_assert_uint_eq(g->decision.vetoes, 0);
        } else {
            ck_assert_uint_ge(g->target_bytes, actual);
            ck_assert_uint_le(g->target_bytes,
                              larger(balloon_given(&g->state, &g->input), g->input.limit_bytes));
        }
        granted += grows;
        urgent += g->decision.panics ? grows : 0;
        ck_assert(*why(&world->host, g));
    }
    /* A panic may get what is promised to others and still free. */
    ck_assert_uint_le(granted - urgent, world->host.budget_bytes);
    ck_assert_uint_le(granted, less(world->host.free_bytes, hard));
}

FIXTURE(always, .setup = setup);

struct orders {
    unsigned shrinks, grows;
};

static struct orders check_world(struct world *world, enum control_level least)
{
    struct orders orders = {0};

    for (int step = 0; step < 3000; step++) {
        for (size_t i = 0; i < N_GUESTS; i++)
            if (any(world, 100) == 0)
                change_guest(world, &world->guests[i]);
        run(&world->host, world->guests, N_GUESTS);
        check_orders(world);
        for (size_t i = 0; i < N_GUESTS; i++) {
            struct control_guest *g = &world->guests[i];

            orders.shrinks += g->action == CONTROL_SHRINK;
            orders.grows += g->action == CONTROL_GROW || g->action == CONTROL_FULL;
            if (g->action != CONTROL_NONE)
                issue(&world->host, g);
            carry_out(world, g);
        }
        ck_assert_uint_ge(world->host.free_bytes, world->host.levels.threshold_bytes[least]);
    }
    return orders;
}

TEST_EACH(always, nothing_goes_below_its_floor_and_the_host_never_below_hard, 0, 40)
{
    struct world world;
    struct orders orders;

    make_world(&world, (uint64_t)_i + 1);
    orders = check_world(&world, LEVEL_HARD);
    if (policy.proactive)
        ck_assert_uint_gt(orders.shrinks, 0);
    ck_assert(!orders.shrinks || orders.grows > 0);
}

/* Reservations above what is assigned, and above the limit; limits below the present size; hard
 * above high. */
TEST_EACH(always, nor_with_limits_that_contradict_each_other, 0, 40)
{
    struct world world;

    make_world(&world, (uint64_t)_i + 1);
    for (size_t i = 0; i < N_GUESTS; i++) {
        struct control_guest *g = &world.guests[i];
        uint64_t actual = 512 * MIB + any(&world, 3584 * MIB);

        g->input.reserved_bytes = any(&world, 8192 * MIB);
        g->allowed_bytes = any(&world, 3) ? any(&world, 8192 * MIB) : 0;
        if (any(&world, 2))
            resize(g, actual, actual);
    }
    policy.levels.high_bytes = 1000 * MIB;
    policy.levels.hard_bytes = any(&world, 4000 * MIB) + 1;
    check_world(&world, LEVEL_LOW); /* a panic took what others touch later */
}

/* One of them claims whatever it likes; the others are as they were, and the host is ample. */
TEST_EACH(always, a_lying_guest_takes_from_no_other, 0, 20)
{
    struct world world;

    make_world(&world, (uint64_t)_i + 1000);
    policy.proactive = false;
    resize(&world.guests[0], 1024 * MIB, 1024 * MIB);
    world.guests[0].input.shares = 1; /* next to none: what it claims is beyond its share */
    world.guests[0].input.reserved_bytes = 0;
    for (int step = 0; step < 3000; step++) {
        struct decide_guest *claims = &world.guests[0].input.guest;

        claims->available_bytes = any(&world, 2) ? 0 : world.guests[0].input.actual_bytes;
        claims->psi_full = any(&world, 3) ? 0.9 : 0;
        claims->oom_kill = any(&world, 3) == 0;
        run(&world.host, world.guests, N_GUESTS);
        check_orders(&world);
        for (size_t i = 1; i < N_GUESTS; i++)
            if (world.guests[i].action != CONTROL_NONE)
                ck_assert_uint_gt(world.guests[i].target_bytes, world.guests[i].input.actual_bytes);
        if (world.guests[0].action != CONTROL_NONE)
            issue(&world.host, &world.guests[0]);
        carry_out(&world, &world.guests[0]);
    }
}

/* --- virtio-mem ------------------------------------------------------------------------------- */

/* Half of it is plugged, in blocks of 2 MiB. */
static struct control_guest plugged(void)
{
    struct control_guest found = guest();

    found.limits[ACTUATOR_VIRTIO_MEM] = (struct actuator){0, 2048 * MIB, 2 * MIB, 2048 * MIB};
    found.limits[ACTUATOR_BALLOON] = (struct actuator){0, 2048 * MIB, 0, 2048 * MIB};
    return found;
}

/* It has followed its virtio-mem so far, and nothing of its balloon. */
static void unplug(struct control_guest *guest, uint64_t plug_bytes)
{
    guest->limits[ACTUATOR_VIRTIO_MEM].current_bytes = plug_bytes;
    resize(guest, plug_bytes + guest->limits[ACTUATOR_BALLOON].current_bytes,
           plug_bytes + guest->limits[ACTUATOR_BALLOON].current_bytes);
}

TEST(rules, virtio_mem_is_set_before_the_balloon)
{
    struct control_host h = host(40000);
    struct control_guest g[] = {plugged()};

    policy.proactive = true;
    rest(&g[0]);
    ck_assert_int_eq(settle(&h, g, 1), CONTROL_SHRINK);
    ck_assert_uint_eq(g[0].target_bytes, 3892 * MIB); /* 5 %, 204.8, and the balloon none of it */
    ck_assert_uint_eq(g[0].set_bytes[ACTUATOR_VIRTIO_MEM], 1844 * MIB);
    ck_assert_msg(strstr(why(&h, &g[0]),
                         "of virtio-mem 1844 of 2048 MiB are requested, its balloon leaves 2048"),
                  "%s", why(&h, &g[0]));
    issue(&h, &g[0]);
    unplug(&g[0], 1844 * MIB);
    run(&h, g, 1);
    ck_assert_uint_eq(g[0].state.set_bytes, 3892 * MIB);
    ck_assert(!g[0].state.moving);
    g[0].input.guest.oom_kill = true; /* a panic */
    ck_assert_int_eq(run(&h, g, 1), CONTROL_FULL);
    ck_assert_uint_eq(g[0].set_bytes[ACTUATOR_VIRTIO_MEM], 2048 * MIB);
    ck_assert_uint_eq(g[0].target_bytes, 4096 * MIB);
}

TEST(rules, a_guest_that_unplugs_nothing_is_inhibited_and_restored)
{
    struct control_host h = host(40000);
    struct control_guest g[] = {plugged()};

    policy.proactive = true;
    rest(&g[0]);
    settle(&h, g, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(g[0].action, CONTROL_SHRINK);
        issue(&h, &g[0]);
        ck_assert_int_eq(run(&h, g, 1), CONTROL_SETTLE);
        ck_assert_uint_eq(g[0].set_bytes[ACTUATOR_VIRTIO_MEM], 2048 * MIB);
        issue(&h, &g[0]);
        if (i < 2)
            settle(&h, g, 1);
    }
    run(&h, g, 1);
    ck_assert_int_eq(g[0].hold, HOLD_INHIBITED);
    ck_assert(strstr(why(&h, &g[0]), "unplugs no block of its virtio-mem"));
    control_restore(&h, RESTORE_BEFORE, g, 1);
    ck_assert_uint_eq(g[0].set_bytes[ACTUATOR_VIRTIO_MEM], 2048 * MIB);
}

TEST(rules, the_end_requests_what_was_requested)
{
    struct control_host h = host(40000);
    struct control_guest g[] = {plugged()};

    rest(&g[0]);
    g[0].state.before_bytes = 4096 * MIB;
    unplug(&g[0], 1000 * MIB);
    g[0].state.seen_bytes = g[0].state.rest_bytes = g[0].input.actual_bytes;
    run(&h, g, 1);
    control_restore(&h, RESTORE_BEFORE, g, 1);
    ck_assert_int_eq(g[0].action, CONTROL_RESTORE);
    ck_assert_uint_eq(g[0].set_bytes[ACTUATOR_VIRTIO_MEM], 2048 * MIB);
    ck_assert_uint_eq(g[0].target_bytes, 4096 * MIB);
    control_restore(&h, RESTORE_HOLD, g, 1);
    ck_assert_uint_eq(g[0].set_bytes[ACTUATOR_VIRTIO_MEM], 1000 * MIB);
}

/* A device whose blocks are larger than a step, and no balloon. */
TEST(rules, a_block_that_is_larger_than_a_step_stays)
{
    struct control_host h = host(40000);
    struct control_guest g[] = {plugged()};

    policy.proactive = true;
    g[0].limits[ACTUATOR_VIRTIO_MEM].block_bytes = 512 * MIB;
    g[0].limits[ACTUATOR_BALLOON].least_bytes = g[0].limits[ACTUATOR_BALLOON].current_bytes;
    rest(&g[0]);
    ck_assert_int_eq(settle(&h, g, 1), CONTROL_NONE);
    ck_assert_int_eq(g[0].hold, HOLD_BLOCK);
    ck_assert(strstr(why(&h, &g[0]), "less than a block of its virtio-mem, 512 MiB"));
}
