// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_reclaim.c  What is reclaimed from control groups: each rule, and what must hold
 * whatever the guests do. */
#include "base/random.h"

#include "fixture.h"

#include "control_host.h"

#include <string.h>

/* 4 GiB, all resident, 200 MiB touched, no driver: nothing is known of what it uses. It keeps 250
 * MiB and a reserve of 205. */
static struct control_guest driverless(void)
{
    struct control_guest driverless = {.input = idle(),
                                       .group = {.swap_room_bytes = 65536 * MIB, .pressure_s = 0}};

    driverless.input.guest = (struct decide_guest){.psi_some = NAN,
                                                   .psi_full = NAN,
                                                   .consistency = NAN,
                                                   .refault_bytes_s = NAN,
                                                   .swap_in_bytes_s = NAN,
                                                   .available_bytes = DECIDE_UNKNOWN};
    return driverless;
}

static void setup_reclaim(void)
{
    control_policy_init(&policy);
    policy.reclaim.on = true;
    policy.proactive = true;
    h = host(60000);
    g = driverless();
}

static void takes_nothing(const struct control_guest *g, enum reclaim_hold hold)
{
    ck_assert_int_ne(g->action, CONTROL_RECLAIM);
    ck_assert_uint_eq(g->reclaim_bytes, 0);
    ck_assert_msg(g->reclaim_hold == hold, "%d, not %d", g->reclaim_hold, hold);
}

FIXTURE(all, .setup = setup_reclaim, .timeout_s = 60);

TEST(all, it_is_off_unless_it_is_on)
{
    control_policy_init(&policy);
    ck_assert(!policy.reclaim.on);
    policy.proactive = true;
    settle(&h, &g, 1);
    takes_nothing(&g, RECLAIM_OFF);
    ck_assert_ptr_null(strstr(why(&h, &g), "reclaim"));
}

TEST(all, cold_memory_of_a_guest_without_a_driver_is_taken)
{
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_BALLOON); /* it has not been seen at rest */
    run(&h, &g, 1);
    run(&h, &g, 1);
    run(&h, &g, 1);
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_WAITING);
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_RECLAIM);
    ck_assert_int_eq(g.hold, HOLD_DECISION);
    ck_assert_uint_eq(g.reclaim_bytes, 204 * MIB); /* 5 % */
    ck_assert_uint_eq(g.target_bytes, 4096 * MIB); /* of its balloon: as it is */
    ck_assert_str_eq(control_action_name(g.action), "reclaim");
    ck_assert_msg(strstr(why(&h, &g), "memory.reclaim of 204 MiB: 4096 are resident, 455 are kept"),
                  "%s", why(&h, &g));
}

TEST(all, no_more_is_taken_than_is_cold)
{
    settle(&h, &g, 1);
    g.input.resident_bytes = 460 * MIB; /* 5 above what it keeps */
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_ENOUGH);
    g.input.assigned_bytes = g.input.actual_bytes = 512 * MIB;
    ck_assert_uint_eq(reclaim_keep(&g.input, &g.decision), 250 * MIB + g.decision.reserve_bytes);
    g.decision.demand_bytes = 500 * MIB;
    ck_assert_uint_eq(reclaim_keep(&g.input, &g.decision), 512 * MIB);
    g.decision.measured = false;
    ck_assert_uint_eq(reclaim_keep(&g.input, &g.decision), 512 * MIB);
}

TEST(all, a_reservation_is_kept)
{
    g.input.reserved_bytes = 3900 * MIB;
    settle(&h, &g, 1);
    takes_nothing(&g, RECLAIM_ENOUGH);
}

TEST(all, what_fits_into_swap_is_the_limit)
{
    g.group.swap_room_bytes = 100 * MIB;
    settle(&h, &g, 1);
    ck_assert_uint_eq(g.reclaim_bytes, 25 * MIB);
    g.group.swap_room_bytes = 3 * MIB;
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_SWAP);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "3 MiB fit into swap"));
}

/* Each group is told the same room, which is the host's. */
TEST(all, all_guests_share_the_room)
{
    struct control_host h = host(60000);
    struct control_guest g[3] = {driverless(), driverless(), driverless()};
    uint64_t taken = 0;

    for (int i = 0; i < 3; i++)
        g[i].group.swap_room_bytes = 1200 * MIB;
    g[2].group.swap_room_bytes = 40 * MIB; /* by a limit of its own */
    settle(&h, g, 3);
    for (int i = 0; i < 3; i++)
        taken += g[i].reclaim_bytes;
    ck_assert_uint_eq(taken, 300 * MIB); /* a quarter */
    ck_assert_uint_le(g[2].reclaim_bytes, 10 * MIB);
    for (int i = 0; i < 3; i++)
        if (g[i].action != CONTROL_RECLAIM)
            takes_nothing(&g[i], RECLAIM_SWAP);
    ck_assert_ptr_nonnull(strstr(why(&h, &g[2]), "other guests take what that allows"));
}

TEST(all, the_next_step_waits_for_a_record_of_after_the_last)
{
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_RECLAIM);
    reclaim_asked(&g.reclaim, h.now_s - EVERY_S);
    for (int i = 0; i < 5; i++) {
        run(&h, &g, 1);
        takes_nothing(&g, RECLAIM_SETTLING); /* its windows began before */
    }
    run(&h, &g, 1);
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_RECLAIM);
    g.input.age_s = 25; /* an old one */
    reclaim_asked(&g.reclaim, h.now_s - 65);
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_SETTLING);
}

/* A migration, a save, a dump: a hold, and no reason to begin to wait anew. */
TEST(all, nothing_is_taken_while_a_job_runs)
{
    settle(&h, &g, 1);
    g.busy = true;
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_BUSY);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "a job runs on the domain"));
    g.busy = false;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_RECLAIM);
}

TEST(all, what_comes_back_stops_it)
{
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_RECLAIM);
    g.group.refault_bytes = MIB;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_RECLAIM); /* no more than may come back in a minute */
    g.group.refault_bytes = 2 * MIB + 4096;
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_PAUSE);
    ck_assert_msg(
        strstr(why(&h, &g), "nothing is reclaimed for 590 s: 2.0 MiB of what was taken came back"),
        "%s", why(&h, &g));
    for (int i = 0; i < 59; i++) { /* what came back counts once */
        run(&h, &g, 1);
        takes_nothing(&g, RECLAIM_PAUSE);
    }
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_WAITING);
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_RECLAIM);
    g.group.refault_bytes += 2 * MIB;
    run(&h, &g, 1);
    ck_assert_double_eq(g.reclaim.pause_s, 1200); /* again, within an hour */
    for (int i = 0; i < 4; i++) {
        h.now_s = g.reclaim.paused_until_s + EVERY_S;
        g.group.refault_bytes += 2 * MIB;
        run(&h, &g, 1);
    }
    ck_assert_double_eq(g.reclaim.pause_s, 3600);
}

/* Wherever in a minute. */
TEST_EACH(all, what_came_back_counts_once, 0, 6)
{
    double until_s;

    settle(&h, &g, 1);
    for (int i = 0; i < _i; i++)
        run(&h, &g, 1);
    g.group.refault_bytes += 3 * MIB;
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_PAUSE);
    until_s = g.reclaim.paused_until_s;
    for (int i = 0; i < 7; i++)
        run(&h, &g, 1);
    ck_assert_double_eq(g.reclaim.paused_until_s, until_s);
}

TEST(all, little_by_little_stops_it_too)
{
    settle(&h, &g, 1);
    for (int i = 0; i < 6; i++) { /* 1.8 MiB a minute, 0.3 at a time */
        g.group.refault_bytes += 3 * MIB / 10;
        run(&h, &g, 1);
    }
    takes_nothing(&g, RECLAIM_PAUSE);
}

TEST(all, waiting_for_memory_stops_it)
{
    settle(&h, &g, 1);
    g.group.pressure_s += 0.05;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_RECLAIM);
    g.group.pressure_s += 0.07; /* 0.12 s of 60: 0.2 % */
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_PAUSE);
    g.group.pressure_s = NAN; /* a kernel that does not say */
    h.now_s += 4000;
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_RECLAIM);
}

TEST(all, a_kernel_that_finds_little_is_left_alone)
{
    settle(&h, &g, 1);
    reclaim_answered(&g.reclaim, &policy.reclaim, 204 * MIB, 90 * MIB, h.now_s);
    reclaim_answered(&g.reclaim, &policy.reclaim, 204 * MIB, 90 * MIB, h.now_s);
    reclaim_answered(&g.reclaim, &policy.reclaim, 204 * MIB, 150 * MIB, h.now_s); /* once more */
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_RECLAIM);
    for (int i = 0; i < 3; i++)
        reclaim_answered(&g.reclaim, &policy.reclaim, 204 * MIB, 0, h.now_s);
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_PAUSE);
}

TEST(all, a_group_that_is_refused_or_not_seen_is_left_alone)
{
    settle(&h, &g, 1);
    strcpy(g.group.refused, "process 7 (bash) is in the group, too");
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_REFUSED);
    ck_assert_ptr_nonnull(strstr(why(&h, &g), "nothing is reclaimed: process 7 (bash)"));
    g.group.refused[0] = '\0';
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_RECLAIM);
    control_run(&policy, &h, &g, 1);
    h.now_s += 61; /* the process that looks hangs */
    control_run(&policy, &h, &g, 1);
    takes_nothing(&g, RECLAIM_UNKNOWN);
}

TEST(all, vetoes_hold_but_missing_statistics)
{
    for (unsigned veto = 1; veto < 1U << N_VETOES; veto <<= 1) {

        if (veto >= VETO_COMPUTED)
            continue;
        g.input.vetoes = veto;
        settle(&h, &g, 1);
        if (veto == VETO_WINDOW)
            continue; /* is computed */
        ck_assert_msg(g.reclaim_hold == RECLAIM_VETO, "veto %x: %d", veto, g.reclaim_hold);
        ck_assert_uint_eq(g.reclaim_bytes, 0);
    }
    struct control_host h = host(60000);
    struct control_guest g = driverless();

    settle(&h, &g, 1);
    ck_assert_uint_eq(g.decision.vetoes, VETO_STATISTICS);
    g.input.age_s = 3600;
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_VETO);
    g = driverless();
    settle(&h, &g, 1);
    g.input.stalled = true;
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_VETO);
}

/* It reports, and its balloon can give. */
static struct control_guest with_driver(void)
{
    struct control_guest g = driverless();

    g.input.guest.reported = true;
    g.input.guest.age_s = 1;
    g.input.guest.consistency = 1;
    g.input.guest.available_bytes = 3796 * MIB;
    return g;
}

TEST(all, a_guest_whose_balloon_gives_is_not_reclaimed_from)
{
    struct control_host h = host(60000);
    struct control_guest g = with_driver();

    for (int i = 0; i < 200; i++) {
        run(&h, &g, 1);
        ck_assert_int_ne(g.action, CONTROL_RECLAIM);
        if (g.action == CONTROL_SHRINK) {
            takes_nothing(&g, RECLAIM_BALLOON);
            balloon_issued(&g.state, &g.input, g.target_bytes, h.now_s - EVERY_S);
        }
        if (g.state.moving) {
            g.input.actual_bytes = smaller(g.input.actual_bytes, g.state.set_bytes);
            g.input.resident_bytes = g.input.actual_bytes;
            g.input.guest.available_bytes = g.input.actual_bytes - 300 * MIB;
        }
    }
    ck_assert_uint_lt(g.input.actual_bytes, 3000 * MIB);
}

TEST(all, what_a_balloon_cannot_take_is_reclaimed)
{
    struct control_host h = host(60000);
    struct control_guest g = with_driver();

    g.input.guest.available_bytes = 150 * MIB; /* it uses all but that, and 200 are touched */
    g.input.guest.swap_total_bytes = 0;
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_RECLAIM);
    g.state.trouble = TROUBLE_NO_DRIVER; /* likewise */
    g.input.guest.available_bytes = 3796 * MIB;
    settle(&h, &g, 1);
    ck_assert_int_eq(g.hold, HOLD_INHIBITED);
    ck_assert_int_eq(g.action, CONTROL_RECLAIM);
    g.excluded = true;
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_BALLOON);
    g.excluded = false;
    g.state.before_bytes = 4096 * MIB;
    g.input.actual_bytes = g.state.seen_bytes = g.state.rest_bytes = 3500 * MIB;
    ck_assert_int_eq(run(&h, &g, 1), CONTROL_RESTORE); /* it gets back what it had */
    takes_nothing(&g, RECLAIM_BALLOON);
}

TEST(all, lazy_reclaims_what_is_missing_from_the_lowest_rho_first)
{
    struct control_host h = host(60000);
    struct control_guest g[3] = {driverless(), driverless(), driverless()};

    policy.proactive = false;
    g[1].input.shares = 1000; /* of 4096 */
    settle(&h, g, 3);
    for (int i = 0; i < 3; i++)
        takes_nothing(&g[i], RECLAIM_OTHERS);
    ck_assert_ptr_nonnull(strstr(why(&h, &g[0]), "the host misses nothing"));
    h.room_bytes = 60100 * MIB;
    run(&h, g, 3);
    ck_assert_int_eq(g[1].action, CONTROL_RECLAIM);
    ck_assert_uint_eq(g[1].reclaim_bytes, 100 * MIB); /* no more than is missing */
    takes_nothing(&g[0], RECLAIM_OTHERS);
    h.room_bytes = 60300 * MIB;
    run(&h, g, 3);
    ck_assert_int_eq(g[1].action, CONTROL_RECLAIM);
    ck_assert_int_eq((g[0].action == CONTROL_RECLAIM) + (g[2].action == CONTROL_RECLAIM), 1);
}

TEST(all, after_a_panic_nothing_is_reclaimed_either)
{
    struct control_host h = host(60000);
    struct control_guest g = with_driver();

    g.input.guest.available_bytes = 150 * MIB;
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_RECLAIM);
    g.input.guest.oom_kill = true;
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_VETO);
    g.input.guest.oom_kill = false;
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_PAUSE);
}

TEST(all, a_pause_never_becomes_shorter)
{
    const double until_s = 5000;

    settle(&h, &g, 1);
    reclaim_pause_until(&g.reclaim, until_s);
    g.group.refault_bytes += 3 * MIB;
    run(&h, &g, 1);
    ck_assert_double_ge(g.reclaim.paused_until_s, until_s);
    h.now_s = until_s - 5;
    g.group.refault_bytes += 3 * MIB;
    run(&h, &g, 1);
    ck_assert_double_ge(g.reclaim.paused_until_s, until_s - 5 + 600);
}

TEST(all, a_record_of_the_future_is_none_of_after_the_last)
{
    struct balloon_state state = {.issued_at_s = 1000, .pending_bytes = 100 * MIB};

    settle(&h, &g, 1);
    reclaim_asked(&g.reclaim, h.now_s - 40);
    g.input.age_s = -25; /* the clock was set back */
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_VETO); /* nor of after its balloon came to rest */
    balloon_observe(&state, &policy.balloon, &g.input, 1000);
    ck_assert_uint_eq(state.pending_bytes, 100 * MIB);
    state = (struct balloon_state){.settled_at_s = 1000, .proving = true};
    balloon_observe(&state, &policy.balloon, &g.input, 1000 + policy.balloon.return_s - 1);
    ck_assert(state.proving);
}

TEST(all, while_its_balloon_is_used_the_wait_begins_anew)
{
    ck_assert_int_eq(settle(&h, &g, 1), CONTROL_RECLAIM);
    g.input.actual_bytes = DECIDE_UNKNOWN;
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_BALLOON);
    g.input.actual_bytes = 4096 * MIB;
    run(&h, &g, 1);
    takes_nothing(&g, RECLAIM_WAITING);
}

/* Random input never goes below the floor, acts during a balloon order, or acts without room. */
TEST(all, whatever_comes_the_limits_hold)
{
    uint64_t random = 7;
    struct control_guest g[4];
    struct control_host h = host(60000);
    unsigned taken = 0;

    policy.decide.down_after_s = 20;
    for (int i = 0; i < 4; i++)
        g[i] = i % 2 ? with_driver() : driverless();
    for (int round = 0; round < 4000; round++) {
        for (int i = 0; i < 4; i++) {
            struct decide_input *input = &g[i].input;

            input->resident_bytes = random_below(&random, 4097) * MIB;
            input->short_wss.high_bytes = input->mid_wss.high_bytes =
                random_below(&random, input->resident_bytes / MIB + 1) * MIB;
            input->stalled = random_below(&random, 50) == 0;
            g[i].group.swap_room_bytes = random_below(&random, 400) * MIB;
            g[i].group.refault_bytes += random_below(&random, 200) == 0 ? 5 * MIB : 0;
            g[i].state.moving = random_below(&random, 20) == 0;
            g[i].state.set_bytes = input->actual_bytes;
        }
        run(&h, g, 4);
        for (int i = 0; i < 4; i++) {
            const struct control_guest *guest = &g[i];

            if (guest->action != CONTROL_RECLAIM) {
                ck_assert_uint_eq(guest->reclaim_bytes, 0);
                continue;
            }
            taken++;
            ck_assert_uint_gt(guest->reclaim_bytes, 0);
            ck_assert_uint_ge(guest->input.resident_bytes - guest->reclaim_bytes,
                              reclaim_keep(&guest->input, &guest->decision));
            ck_assert_uint_ge(reclaim_keep(&guest->input, &guest->decision),
                              guest->input.mid_wss.high_bytes);
            ck_assert_uint_le(guest->reclaim_bytes, guest->group.swap_room_bytes / 4);
            ck_assert_uint_le(guest->reclaim_bytes, 256 * MIB);
            ck_assert(!guest->state.moving && !guest->input.stalled);
        }
    }
    ck_assert_uint_gt(taken, 50);
}
