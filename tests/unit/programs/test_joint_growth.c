// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_joint_growth.c  The growth of all guests together that one minute in a thousand
 * exceeds. */
#include "programs/balloond/joint_growth.h"

#include "fixture.h"
#include "kept.h"

#include <stdlib.h>

static struct joint_minutes *minutes;

static void setup(void)
{
    minutes = calloc(1, sizeof(*minutes));
}

static void teardown(void)
{
    free(minutes);
}

/* All guests have so much from that minute on. */
static void put(size_t from, size_t to, uint64_t mib)
{
    for (size_t m = from; m < to; m++) {
        minutes->of[m].known = true;
        minutes->of[m].bytes = (double)(mib * MIB);
    }
}

FIXTURE(cases, .setup = setup, .teardown = teardown, .timeout_s = 60);

TEST(cases, a_few_minutes_show_nothing)
{
    ck_assert_uint_eq(joint_growth_of(minutes), 0);
    put(0, JOINT_LEAST + JOINT_HOLD - 1, 100);
    ck_assert_uint_eq(joint_growth_of(minutes), 0);
}

/* Each day guests start for three minutes, 4 GiB a minute: more than one minute in a thousand. */
TEST(cases, one_minute_in_a_thousand)
{
    put(0, JOINT_MINUTES, 1000);
    ck_assert_uint_eq(joint_growth_of(minutes), 0);
    for (size_t day = 0; day < 7; day++)
        for (size_t m = 0; m < 3; m++)
            put(day * 1440 + 700 + m, day * 1440 + 701 + m, 1000 + 4096 * (m + 1));
    ck_assert_uint_eq(joint_growth_of(minutes), 4096 * MIB);
    for (size_t day = 3; day < 7; day++) /* on three days only: nine minutes of 10,070 */
        put(day * 1440, (day + 1) * 1440, 1000);
    ck_assert_uint_eq(joint_growth_of(minutes), 0);
}

/* Guests that are found after a time without records have not begun. */
TEST(cases, after_a_gap_nothing_counts)
{
    put(0, JOINT_MINUTES, 1000);
    for (size_t gap = 500; gap < JOINT_MINUTES; gap += 500) {
        minutes->of[gap].known = false;
        minutes->of[gap].bytes = 0;
    }
    ck_assert_uint_eq(joint_growth_of(minutes), 0);
}

/* Each has 512 MiB resident, and a record each @p every_s, from @p from_s on. */
static void add(struct store *store, const char *uuid, double now_s, double from_s, double every_s)
{
    const size_t n = (size_t)(from_s / every_s);
    cleanup_free struct ages_record *records = calloc(n, sizeof(*records));
    cleanup_free struct store_entry *entries = calloc(n, sizeof(*entries));

    for (size_t i = 0; i < n; i++) {
        records[i] = kept_record(uuid, uuid, now_s - from_s + (double)i * every_s, 100);
        entries[i] = (struct store_entry){.record = &records[i], .period_s = every_s};
    }
    ck_assert_ok(store_add(store, entries, n, &error));
}

/* One guest is there all the time, and rarely measured: that is no growth. Two begin. */
TEST_EACH(cases, the_history_is_read_one_guest_at_a_time, 0, 2)
{
    const double now_s = 1800000000, every_s = _i ? 60 : 600;
    cleanup_store struct store *store;
    struct joint_growth joint = {0};

    kept_begin();
    store = kept_open(kept.path);
    add(store, UUID_1, now_s, 1200 * 60.0, every_s);
    add(store, UUID_2, now_s, 600 * 60.0, every_s);
    add(store, "33333333-3333-4333-8333-333333333333", now_s, 300 * 60.0, every_s);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(joint.bytes, 0);
        joint_growth_step(&joint, kept.path, now_s + 10 * i);
    }
    ck_assert_uint_eq(joint.bytes, 512 * MIB);
    ck_assert_ptr_null(joint.minutes);
    joint.bytes = 7;
    joint_growth_step(&joint, kept.path, now_s + 3600); /* not due */
    ck_assert_ptr_null(joint.minutes);
    joint_growth_step(&joint, kept.path, now_s + 7 * 3600);
    ck_assert_ptr_nonnull(joint.minutes);
    for (int i = 0; i < 2; i++)
        joint_growth_step(&joint, kept.path, now_s + 7 * 3600);
    ck_assert_uint_eq(joint.bytes, 512 * MIB);
    for (int i = 0; i < 3; i++) /* the clock is two months ahead: there is no last week */
        joint_growth_step(&joint, kept.path, now_s + 60 * 86400);
    ck_assert_ptr_null(joint.minutes);
    ck_assert_uint_eq(joint.bytes, 512 * MIB);
    joint_growth_free(&joint);
}

TEST(cases, without_a_history_it_is_not_known)
{
    struct joint_growth joint = {0};

    joint_growth_step(&joint, "/nonexistent/history.db", 1000000);
    ck_assert_uint_eq(joint.bytes, 0);
    ck_assert_ptr_null(joint.minutes);
    joint_growth_free(&joint);
}
