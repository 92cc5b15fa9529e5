// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file control_host.h  A host of 64 GiB and guests of 4 GiB, for tests of the control law. */
#pragma once

#include "base/bytes.h"
#include "decide/control/control_words.h"

#include <math.h>

#define MIB DECIDE_MIB
#define EVERY_S 10

static struct control_policy policy;
/* setup() makes both anew for each test. */
__attribute__((unused)) static struct control_host h;
__attribute__((unused)) static struct control_guest g;

/* 4 GiB, all resident, 200 MiB touched: after ten minutes it may go to 505 MiB. */
static inline struct decide_input idle(void)
{
    return (struct decide_input){
        .assigned_bytes = 4096 * MIB,
        .actual_bytes = 4096 * MIB,
        .resident_bytes = 4096 * MIB,
        .short_wss = {60, 190 * MIB, 200 * MIB},
        .mid_wss = {600, 190 * MIB, 200 * MIB},
        .long_wss = {3600, 190 * MIB, 200 * MIB},
        .day_bytes = 200 * MIB,
        .day_s = 86400,
        .age_s = 1,
        .period_s = 10,
        .up_s = 86400,
        .panic_age_s = NAN,
        .guest = {.reported = true,
                  .age_s = 1,
                  .consistency = 1,
                  .available_bytes = 3796 * MIB,
                  .swap_total_bytes = 0,
                  .swap_free_bytes = 0,
                  .cold_anon_bytes = 0},
    };
}

/* Idle, as long as it uses 300 MiB; its owner allows it all that is assigned. */
static inline struct control_guest guest(void)
{
    return (struct control_guest){.input = idle(), .allowed_bytes = UINT64_MAX};
}

static inline void resize(struct control_guest *guest, uint64_t actual, uint64_t resident)
{
    uint64_t used = decide_actual(&guest->input) - guest->input.guest.available_bytes;

    guest->input.actual_bytes = actual;
    guest->input.resident_bytes = resident;
    guest->input.guest.available_bytes = less(actual, used);
}

/* Seen for long, and its balloon did not move. */
static inline void rest(struct control_guest *guest)
{
    uint64_t actual = guest->input.actual_bytes;

    guest->state = (struct balloon_state){
        .rested = true, .seen_bytes = actual, .rest_bytes = actual};
}

/* 64 GiB: high is 2621 MiB, soft 1677, hard 838. */
static inline struct control_host host(uint64_t free_mib)
{
    return (struct control_host){
        .total_bytes = 65536 * MIB, .free_bytes = free_mib * MIB, .now_s = 1000};
}

static inline void setup(void)
{
    control_policy_init(&policy);
    policy.levels.high_bytes = (uint64_t)(65536 * MIB * 0.04);
    h = host(20000);
    g = guest();
}

/* Each group is looked at before each decision. Returns the action of the first guest, like the
 * functions below. */
static inline enum control_action run(struct control_host *host, struct control_guest *guests,
                                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        guests[i].group.seen_s = host->now_s;
    control_run(&policy, host, guests, n);
    host->now_s += EVERY_S;
    return guests[0].action;
}

/* Decisions without any being carried out, until ten minutes and more have passed. */
static inline enum control_action settle(struct control_host *host, struct control_guest *guests,
                                         size_t n)
{
    for (int i = 0; i <= 64; i++)
        run(host, guests, n);
    return guests[0].action;
}

static inline const char *why(const struct control_host *host, const struct control_guest *guest)
{
    static char text[CONTROL_WHY_TEXT];

    return control_why(text, &policy, host, guest);
}

static inline void issue(const struct control_host *host, struct control_guest *guest)
{
    balloon_issued(&guest->state, &guest->input, guest->target_bytes, host->now_s - EVERY_S);
}

/* A decision, which is carried out. */
static inline void run_and_issue(struct control_host *host, struct control_guest *guest)
{
    run(host, guest, 1);
    if (guest->action != CONTROL_NONE)
        issue(host, guest);
}

/* Orders a proactive shrink; the guest is as before. */
static inline void begin_shrink(struct control_host *h, struct control_guest *g)
{
    policy.proactive = true;
    ck_assert_int_eq(settle(h, g, 1), CONTROL_SHRINK);
    issue(h, g);
}

/* A panic is decided about every two seconds. */
static inline enum control_action run_at_once(struct control_host *h, struct control_guest *g)
{
    h->now_s -= EVERY_S - 2;
    return run(h, g, 1);
}
