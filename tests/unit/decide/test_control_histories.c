// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file test_control_histories.c  Random histories of the kinds of trouble that operators have
 * reported, each under the control law alone.
 */
#include "fixture.h"

#include "control_history.h"
#include "guest/domain/domain_memory.h"

#define DEFAULT_HISTORIES 60
#define LATE_MAX 8

/* --- a guest as it is ------------------------------------------------------------------------- */

static struct real {
    uint64_t m, held, taken; /* B = M - held - taken */
    uint64_t want;           /* what is to be taken, as QEMU knows it */
    uint64_t used;
    uint64_t speed; /* bytes that its driver moves in ten seconds */
    unsigned late;  /* decisions by which libvirt's B is late */
    uint64_t shown[LATE_MAX + 1];
} real;

static uint64_t actual(void)
{
    return real.m - real.held - real.taken;
}

static void begin(uint64_t seed)
{
    seed_draws(seed);
    control_policy_init(&policy);
    h = (struct control_host){
        .total_bytes = 64 * GIB, .free_bytes = 20 * GIB, .now_s = 100000, .cpu_some = NAN};
    real = (struct real){.m = (2 + draw(15)) * GIB, .speed = (64 + draw(2000)) * MIB};
    real.used = real.m / 16 + draw(real.m / 4);
    g = guest();
    for (unsigned i = 0; i <= LATE_MAX; i++)
        real.shown[i] = real.m;
}

static void see(void)
{
    const uint64_t to = real.want;

    if (real.taken < to)
        real.taken = smaller(real.taken + real.speed, to);
    else
        real.taken = larger(less(real.taken, real.speed), to);
    memmove(real.shown + 1, real.shown, LATE_MAX * sizeof(*real.shown));
    real.shown[0] = real.m;
    g.input.assigned_bytes = real.m;
    g.input.actual_bytes = smaller(real.shown[real.late] - real.held - real.taken, real.m);
    g.input.resident_bytes = actual();
    g.input.guest.total_bytes = actual();
    g.input.guest.available_bytes = less(actual(), real.used);
    g.input.short_wss = g.input.mid_wss = g.input.long_wss = (struct decide_wss){600, real.used / 2,
                                                                                 real.used / 2};
    g.input.short_wss.window_s = 60;
    g.input.long_wss.window_s = 3600;
    g.input.day_bytes = real.used / 2;
}

/* An order that is carried out: QEMU counts the pages to take. */
static void carry_out(void)
{
    if (g.action == CONTROL_NONE || g.action == CONTROL_RECLAIM)
        return;
    balloon_issued(&g.state, &g.input, g.target_bytes, h.now_s - EVERY_S);
    real.want = less(real.m - real.held, g.target_bytes);
}

static void step(void)
{
    see();
    run(&h, &g, 1);
    carry_out();
}

/* --- the second kind: memory is plugged and unplugged ----------------------------------------- */

static void plug(uint64_t bytes, bool out)
{
    if (out && less(actual(), bytes) > 2 * real.used + GIB)
        real.m -= bytes;
    else if (!out)
        real.m += bytes;
}

static bool plugs_well(uint64_t seed)
{
    bool foreign = false;

    begin(seed);
    policy.proactive = true;
    real.late = (unsigned)draw(3);
    for (int i = 0; i < 6 * 60 * 6; i++) {
        if (i > 12 && i < 6 * 60 * 4 && chance(2))
            for (unsigned n = (unsigned)draw(3) + 1; n > 0; n--) {
                plug(GIB / 8 << draw(4), chance(40));
                for (unsigned k = (unsigned)draw(3); k > 0; k--)
                    step();
            }
        step();
        foreign = foreign || g.state.trouble == TROUBLE_FOREIGN;
    }
    h.free_bytes = 60 * GIB;
    control_restore(&h, RESTORE_BEFORE, &g, 1);
    return !foreign &&
           (real.taken == 0 || (g.action == CONTROL_RESTORE && g.target_bytes == real.m));
}

/* --- the third kind: what the owner holds back -------------------------------------------------
 */

/* Panics, reboots until whose end the guest has all of M, a driver that loads late. */
static bool keeps_the_owners_limit(uint64_t seed)
{
    uint64_t limit;
    bool kept = true;
    int boots = 0, settled = 0;

    begin(seed);
    policy.proactive = chance(50);
    real.held = real.m / 8 * (1 + draw(4));
    real.used = less(real.m - real.held, GIB / 4) / 2;
    limit = real.m - real.held;
    g.allowed_bytes = 0;
    see();
    rest(&g);
    for (int i = 0; i < 6 * 60 * 8; i++) {
        const uint64_t taken = real.taken, held = real.held, used = real.used;

        if (boots == 0 && i > 60 && chance(1) && chance(30))
            boots = 2 + (int)draw(60);
        settled = boots > 0 ? 0 : settled + 1;
        if (boots > 0) /* its balloon is empty, and inflates when its driver has loaded */
            real.held = real.taken = 0;
        if (chance(2))
            real.used = actual() - 8 * MIB * draw(3);
        see();
        run(&h, &g, 1);
        if (boots > 0) {
            real.held = held;
            real.taken = --boots > 0 ? taken : real.want;
        }
        carry_out();
        real.used = used;
        kept = kept && (settled < 12 || actual() <= limit);
    }
    h.free_bytes = 60 * GIB;
    control_restore(&h, RESTORE_BEFORE, &g, 1);
    return kept && (g.action != CONTROL_RESTORE || g.target_bytes <= limit);
}

/* --- the fifth kind: what was taken is given back -----------------------------------------------
 */

/* The host is short for an hour, then ample for a day, while the guest's pressure, records and
 * statistics come and go. */
static bool gives_back(uint64_t seed)
{
    const uint64_t before = seed % 7;

    begin(seed);
    policy.proactive = false;
    see();
    rest(&g);
    for (int i = 0; i < 6 * 60 * 26; i++) {
        h.free_bytes = i < 6 * 60 * 2 ? (600 + draw(300)) * MIB : 30 * GIB;
        see();
        if (i >= 6 * 60 * 2 && before > 0) {
            g.input.guest.reported = draw(before + 1) > 0;
            g.input.age_s = before < 4 || chance(50) ? 1 : (double)draw(4000);
            g.input.guest.psi_some = chance(30) ? (double)draw(80) / 1000 : 0;
            g.input.guest.refault_bytes_s = chance(30) ? (double)draw(MIB) : 0;
            g.input.guest.near_or_above = chance(20);
        } else {
            g.input.guest.reported = true;
            g.input.age_s = 1;
        }
        run(&h, &g, 1);
        carry_out();
    }
    return real.want == 0;
}

/* --- the seventh kind: pressure that memory does not cure ----------------------------------------
 */

/* Containers at limits of their own raise the guest's pressure; it has more available than it
 * needs. */
static bool takes_nothing_for_limits(uint64_t seed)
{
    int panics = 0;

    begin(seed);
    see();
    rest(&g);
    g.state.before_bytes = g.state.limit_bytes = real.m;
    real.want = real.taken = real.m / 8;
    for (int i = 0; i < 6 * 60 * 6; i++) {
        h.free_bytes = (800 + draw(4000)) * MIB;
        see();
        g.input.guest.psi_some = g.input.guest.psi_full = NAN;
        g.input.guest.stalls_s = NAN;
        if (seed % 4 != 1)
            g.input.guest.psi_some = 0.1 + (double)draw(80) / 100;
        if (seed % 4 >= 2)
            g.input.guest.psi_full = 0.02 + (double)draw(50) / 100;
        if (seed % 4 == 1)
            g.input.guest.stalls_s = chance(60) ? 1 + (double)draw(50) : 0;
        run(&h, &g, 1);
        panics += g.decision.panics != 0;
        carry_out();
    }
    return panics == 0;
}

/* --- the first and the eighth kind: numbers of another time, and nonsense ------------------------
 */

/* Reports of libvirt are checked first. The clock is set; the guest uses half of what it has. */
static bool takes_nothing_by_wrong_numbers(uint64_t seed)
{
    bool right = true;

    begin(seed);
    policy.proactive = true;
    real.used = real.m / 2;
    see();
    rest(&g);
    for (int i = 0; i < 6 * 60 * 4; i++) {
        const uint64_t now_s = 1000000;
        struct domain_memory memory = {.current_bytes = actual(), .maximum_bytes = real.m};
        bool nonsense = chance(40), moved = chance(30);

        memset(&memory.total_bytes, 0xff,
               sizeof(memory) - offsetof(struct domain_memory, total_bytes));
        memory.total_bytes = memory.maximum_bytes - real.taken;
        memory.available_bytes = less(actual(), real.used);
        memory.free_bytes = memory.available_bytes * 9 / 10;
        memory.updated_s = now_s - draw(10);
        if (nonsense && seed % 2) {
            uint64_t *const all[] = {&memory.total_bytes, &memory.available_bytes,
                                     &memory.free_bytes};
            const uint64_t values[] = {0, 1, real.m + MIB, UINT64_MAX - 1, INT64_MAX};

            *all[draw(3)] = values[draw(5)];
        }
        if (moved && seed % 2 == 0) {
            memory.available_bytes = real.m - MIB;
            memory.updated_s = chance(50) ? now_s + 3 + draw(100000) : now_s - 61 - draw(100000);
        }
        domain_memory_check(&memory, now_s);
        see();
        g.input.guest.reported = domain_memory_is_reported(&memory);
        g.input.guest.available_bytes = memory.available_bytes;
        g.input.guest.total_bytes = memory.total_bytes;
        run(&h, &g, 1);
        right = right && (g.action != CONTROL_SHRINK || g.target_bytes >= real.used) &&
                g.decision.panics == 0;
        carry_out();
    }
    return right;
}

FIXTURE(made, .setup = setup);

TEST(made, plugged_memory_is_no_other_hand)
{
    holds(plugs_well, DEFAULT_HISTORIES);
}

TEST(made, no_guest_gets_more_than_its_owner_gives)
{
    holds(keeps_the_owners_limit, DEFAULT_HISTORIES);
}

TEST(made, what_was_taken_comes_back)
{
    holds(gives_back, DEFAULT_HISTORIES);
}

TEST(made, limits_inside_are_no_panic)
{
    holds(takes_nothing_for_limits, DEFAULT_HISTORIES);
}

TEST(made, wrong_numbers_take_nothing)
{
    holds(takes_nothing_by_wrong_numbers, DEFAULT_HISTORIES);
}
