// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_balloon_pressure.c  Pressure by the balloon driver's counters alone: made guests that
 * report every five seconds, asked every two. */
#include "decide/advice/from_history.h"

#include "base/random.h"

#include "unit.h"

#include "control_host.h"

#include <string.h>

#define REPORT_S 5
#define ASK_S 2

/* 4 GiB, of which it has 2; two of its reserves are 410 MiB. */
struct made {
    struct guest_tracker tracker;
    struct domain_memory memory;             /* the driver's last report */
    double oom_kills, stalls, async, direct; /* the last two in pages */
    uint64_t available_bytes;
};

static uint64_t random_state;

static double uniform(double from, double to)
{
    return from + (to - from) * (double)random_below(&random_state, 1U << 20) / (1 << 20);
}

static void begin(struct made *made)
{
    *made = (struct made){.available_bytes = 900 * MIB, .stalls = 1000, .async = 1e6};
    guest_tracker_init(&made->tracker, "");
    memset(&made->memory, 0xff, sizeof(made->memory));
    made->memory.maximum_bytes = 4096 * MIB;
}

static void report(struct made *made, double now_s)
{
    struct domain_memory *memory = &made->memory;

    memory->updated_s = 1700000000 + (uint64_t)now_s;
    memory->total_bytes = 1950 * MIB;
    memory->free_bytes = made->available_bytes / 4;
    memory->available_bytes = made->available_bytes;
    memory->oom_kills = (uint64_t)made->oom_kills;
    memory->alloc_stalls = (uint64_t)made->stalls;
    memory->async_scan_bytes = 4096 * (uint64_t)made->async;
    memory->direct_scan_bytes = 4096 * (uint64_t)made->direct;
}

static struct decide_input input_of(const struct made *made, double now_s)
{
    struct decide_input input = idle();

    input.actual_bytes = input.resident_bytes = 2048 * MIB;
    input.guest = (struct decide_guest){.reported = true,
                                        .age_s = 1,
                                        .consistency = 1,
                                        .available_bytes = made->memory.available_bytes,
                                        .total_bytes = made->memory.total_bytes,
                                        .psi_some = NAN,
                                        .psi_full = NAN,
                                        .refault_bytes_s = NAN,
                                        .swap_in_bytes_s = NAN,
                                        .stalls_s = NAN};
    decide_add_counters(&input.guest, &made->tracker, now_s);
    return input;
}

static unsigned ask(struct made *made, double now_s)
{
    struct decide_input input;

    guest_tracker_update_balloon(&made->tracker, &made->memory, now_s);
    input = input_of(made, now_s);
    return decide_panics(&decide_policy_default, &input);
}

/* A quiet second: kswapd scans at times, a large file is read through a full cache, or a single
 * allocation waits. */
static void be_quiet(struct made *made, bool reads)
{
    made->async += reads ? uniform(0, 20000) : 0;
    made->stalls += reads && random_below(&random_state, 3) == 0 ? uniform(0, 30) : 0;
    made->direct += reads ? uniform(0, 500) : 0;
    made->stalls += random_below(&random_state, 60) == 0;
    made->available_bytes = (uint64_t)uniform(800, 1000) * MIB;
}

/* A second in which it is short, but not out of memory: what is available is no panic yet. */
static void be_squeezed(struct made *made)
{
    made->async += uniform(5000, 50000);
    made->stalls += uniform(5, 400);
    made->direct += uniform(500, 30000);
    made->available_bytes = (uint64_t)uniform(110, 390) * MIB;
}

/* Returns after how many seconds a panic is seen; -1: never. */
static double panics_after(bool squeezed, double seconds)
{
    const double begins_s = uniform(60, 120), phase_s = uniform(0, REPORT_S);
    double reads_until_s = 0;
    struct made made;

    begin(&made);
    for (double now_s = 1; now_s < begins_s + seconds; now_s++) {
        if (random_below(&random_state, 300) == 0)
            reads_until_s = now_s + uniform(5, 60);
        if (squeezed && now_s >= begins_s)
            be_squeezed(&made);
        else
            be_quiet(&made, now_s < reads_until_s);
        if (fmod(now_s + floor(phase_s), REPORT_S) == 0)
            report(&made, now_s);
        if (fmod(now_s, ASK_S) == 0 && made.memory.updated_s != UINT64_MAX && ask(&made, now_s))
            return now_s - begins_s;
    }
    return -1;
}

FIXTURE(counters);

TEST(counters, fifty_squeezes_are_seen_within_ten_seconds)
{
    double longest_s = 0;

    random_state = 11;
    for (int i = 0; i < 50; i++) {
        double after_s = panics_after(true, 60);

        ck_assert_msg(after_s >= 0 && after_s <= 10, "%d: after %.0f s", i, after_s);
        longest_s = fmax(longest_s, after_s);
    }
    ck_assert_double_le(longest_s, 10);
}

TEST(counters, fifty_quiet_hours_have_no_panic)
{
    random_state = 12;
    for (int i = 0; i < 50; i++)
        ck_assert_double_eq(panics_after(false, 3600), -1);
}

static struct made two_reports(double oom_kills, double stalls, uint64_t available_bytes)
{
    struct made made;

    begin(&made);
    made.available_bytes = available_bytes;
    report(&made, 10);
    ask(&made, 10);
    made.oom_kills += oom_kills;
    made.stalls += stalls;
    report(&made, 20);
    ask(&made, 20);
    return made;
}

static unsigned panics(const struct made *made, double now_s)
{
    const struct decide_input input = input_of(made, now_s);

    return decide_panics(&decide_policy_default, &input);
}

static unsigned vetoes(const struct made *made, double now_s)
{
    const struct decide_input input = input_of(made, now_s);

    return decide_vetoes(&decide_policy_default, &input);
}

TEST(counters, an_oom_kill_is_a_panic_unless_no_allocation_waited)
{
    struct made made = two_reports(1, 16, 900 * MIB);

    ck_assert_uint_eq(panics(&made, 20), PANIC_OOM_KILL);
    made = two_reports(1, 0, 900 * MIB); /* a container's limit */
    ck_assert_uint_eq(panics(&made, 20), 0);
    ck_assert_uint_eq(vetoes(&made, 20), 0);
}

TEST(counters, few_stalls_are_a_veto)
{
    struct made made = two_reports(0, 3, 300 * MIB);

    ck_assert_uint_eq(panics(&made, 20), 0);
    ck_assert(vetoes(&made, 20) & VETO_PRESSURE);
    made = two_reports(0, 30, 300 * MIB);
    ck_assert_uint_eq(panics(&made, 20), PANIC_STALLS);
    made = two_reports(0, 30, 900 * MIB); /* memory would not help */
    ck_assert_uint_eq(panics(&made, 20), 0);
    ck_assert_uint_eq(panics(&made, 120), 0); /* that is long ago */
    ck_assert_uint_eq(vetoes(&made, 120), 0);
}

/* The driver reports bytes (drivers/virtio/virtio_balloon.c, pages_to_bytes()). */
TEST(counters, a_few_pages_that_are_scanned_are_no_sign)
{
    struct made made = two_reports(0, 0, 900 * MIB);

    made.async += 50;
    report(&made, 30);
    ask(&made, 30);
    ck_assert_uint_eq(vetoes(&made, 30), 0);
    made.async += 1000;
    report(&made, 40);
    ask(&made, 40);
    ck_assert_uint_eq(vetoes(&made, 40), VETO_VERDICT);
}

/* The guest was reset, or its driver lies: nothing is known, and nothing is zero. */
TEST(counters, a_counter_that_goes_backward_is_not_known)
{
    struct made made = two_reports(0, 3000, 300 * MIB);

    made.stalls = 5;
    made.async = 0;
    report(&made, 30);
    ask(&made, 30);
    ck_assert_uint_eq(panics(&made, 30), 0);
    ck_assert_double_nan(input_of(&made, 30).guest.stalls_s);
    made.stalls += 100; /* the new run's own */
    report(&made, 40);
    ask(&made, 40);
    ck_assert_uint_eq(panics(&made, 40), PANIC_STALLS);
}

TEST(counters, without_them_it_is_as_before)
{
    struct made made = two_reports(0, 30, 300 * MIB);

    begin(&made);
    for (double now_s = 10; now_s <= 40; now_s += 10) {
        made.available_bytes = 300 * MIB;
        report(&made, now_s);
        made.memory.oom_kills = made.memory.alloc_stalls = DOMAIN_MEMORY_UNKNOWN;
        made.memory.async_scan_bytes = made.memory.direct_scan_bytes = DOMAIN_MEMORY_UNKNOWN;
        ask(&made, now_s);
    }
    ck_assert_uint_eq(panics(&made, 40), 0);
    ck_assert_uint_eq(vetoes(&made, 40), 0);
    ck_assert_double_nan(input_of(&made, 40).guest.stalls_s);
}
