// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_flag_memory.c  What happened is said for as long as a window reaches back over it,
 * and no longer. */
#include "measure/record/flag_memory.h"

#include "fixture.h"

#include <math.h>
#include <string.h>

#define MIB (1ULL << 20)

static struct flag_memory memory;
static struct sample_record record;

/* Windows of 10, 60 and 600 seconds, with low bounds of 10, 12 and 400 MiB. */
static unsigned flags_at(double now_s)
{
    static const double window_s[] = {10, 60, 600};
    static const uint64_t low_mib[] = {10, 12, 400};

    memset(&record, 0, sizeof(record));
    record.n_windows = 3;
    for (int w = 0; w < 3; w++)
        record.windows[w] = (struct window_record){.window_s = window_s[w],
                                                   .est_window_s = window_s[w],
                                                   .wss_bytes = 420 * MIB,
                                                   .wss_low_bytes = low_mib[w] * MIB,
                                                   .wss_high_bytes = 440 * MIB};
    flag_memory_apply(&memory, &record, now_s);
    return record.flags;
}

TEST(plain, nothing_happened)
{
    flag_memory_scan(&memory, FLAG_THP | FLAG_PARTIAL | FLAG_IDLE_GUEST, 1);
    ck_assert_uint_eq(flags_at(2), 0);
    ck_assert_uint_eq(record.windows[2].wss_low_bytes, 400 * MIB);
}

TEST(plain, between_two_looks)
{
    flag_memory_scan(&memory, 0, 100);
    flag_memory_note(&memory, FLAG_DUMP, 130);
    ck_assert_uint_eq(flags_at(130), FLAG_DUMP);
    ck_assert_uint_eq(record.windows[0].wss_low_bytes, 0);
    ck_assert_uint_eq(record.windows[2].wss_low_bytes, 0);
    ck_assert_uint_eq(flags_at(160), FLAG_DUMP); /* the shortest is free of it */
    ck_assert_uint_eq(record.windows[0].wss_low_bytes, 10 * MIB);
    ck_assert_uint_eq(record.windows[1].wss_low_bytes, 10 * MIB);
    ck_assert_uint_eq(flags_at(200), FLAG_DUMP);
    ck_assert_uint_eq(record.windows[1].wss_low_bytes, 12 * MIB);
    ck_assert_uint_eq(record.windows[2].wss_low_bytes, 12 * MIB);
    ck_assert_uint_eq(record.windows[2].wss_high_bytes, 440 * MIB);
    ck_assert_uint_eq(flags_at(729), FLAG_DUMP);
    ck_assert_uint_eq(flags_at(731), 0);
    ck_assert_uint_eq(record.windows[2].wss_low_bytes, 400 * MIB);
}

/* It was there at one scan and not at the next, so it ended in between: nobody knows when. */
TEST(plain, it_ended_before_a_look)
{
    flag_memory_scan(&memory, FLAG_MIGRATING, 100);
    flag_memory_scan(&memory, 0, 200);
    ck_assert_uint_eq(flags_at(799), FLAG_MIGRATING);
    flag_memory_scan(&memory, 0, 300);
    ck_assert_uint_eq(flags_at(801), 0);
}

/* Others only make a number less certain: DAMON for a method that does not wait for the idle
 * flag. */
TEST(plain, others_keep_the_bounds)
{
    flag_memory_scan(&memory, FLAG_DAMON_ACTIVE | FLAG_KSM | FLAG_SWAP, 100);
    ck_assert_uint_eq(flags_at(400), FLAG_DAMON_ACTIVE | FLAG_KSM | FLAG_SWAP);
    ck_assert_uint_eq(record.windows[2].wss_low_bytes, 400 * MIB);
}

/* Touches that DAMON has taken are missing in each window that reaches back to them. */
TEST(plain, damon_takes_what_idle_waits_for)
{
    struct ages_record ages = {.n_bins = 2};

    flags_at(0);
    record.method = "idle";
    record.resident_bytes = 500 * MIB;
    flag_memory_scan(&memory, FLAG_DAMON_ACTIVE, 100);
    flag_memory_scan(&memory, 0, 120);
    flag_memory_apply(&memory, &record, 150);
    ck_assert_uint_eq(record.windows[0].wss_high_bytes, 440 * MIB);
    ck_assert_uint_eq(record.windows[1].wss_high_bytes, 500 * MIB);
    ck_assert_uint_eq(record.windows[1].wss_low_bytes, 12 * MIB);
    ages.sample = record;
    ages.bins[0] = (struct age_bin){0, 60, 20 * MIB, 10 * MIB, 30 * MIB};
    ages.bins[1] = (struct age_bin){60, HUGE_VAL, 400 * MIB, 390 * MIB, 410 * MIB};
    flag_memory_apply_ages(&memory, &ages, 150);
    ck_assert_uint_eq(ages.bins[0].low_bytes, 10 * MIB);
    ck_assert_uint_eq(ages.bins[0].high_bytes, 500 * MIB);
    ck_assert_uint_eq(ages.bins[1].low_bytes, 0);
    ck_assert_uint_eq(ages.bins[1].high_bytes, 500 * MIB);
}

/* Which pages these were is known: the bounds have them, and what is always on is no flag. */
TEST(plain, damon_whose_pages_are_known)
{
    struct ages_record ages = {.n_bins = 1,
                               .bins = {{60, HUGE_VAL, 400 * MIB, 390 * MIB, 410 * MIB}}};

    flags_at(0);
    record.method = "idle";
    record.resident_bytes = 500 * MIB;
    for (int w = 0; w < 3; w++)
        record.windows[w].damon_told = true;
    flag_memory_scan(&memory, FLAG_DAMON_ACTIVE, 100);
    ages.sample = record;
    flag_memory_apply_ages(&memory, &ages, 101);
    ck_assert_uint_eq(ages.sample.flags, 0);
    ck_assert_uint_eq(ages.sample.windows[2].wss_high_bytes, 440 * MIB);
    ck_assert_uint_eq(ages.bins[0].low_bytes, 390 * MIB);
    ages.sample.windows[2].damon_told = false;
    flag_memory_apply_ages(&memory, &ages, 101);
    ck_assert_uint_eq(ages.sample.flags, FLAG_DAMON_ACTIVE);
    ck_assert_uint_eq(ages.sample.windows[1].wss_high_bytes, 440 * MIB);
    ck_assert_uint_eq(ages.sample.windows[2].wss_high_bytes, 500 * MIB);
    ck_assert_uint_eq(ages.bins[0].low_bytes, 0);
}

/* So of one measurement, of which only its own flags are known; others stay. */
TEST(plain, damon_of_one_measurement)
{
    flags_at(0);
    record.method = "mglru";
    record.resident_bytes = 500 * MIB;
    record.flags = FLAG_DAMON_ACTIVE | FLAG_SWAP;
    for (int w = 0; w < 3; w++)
        record.windows[w].damon_told = true;
    flag_memory_apply_own(&record);
    ck_assert_uint_eq(record.flags, FLAG_SWAP);
    ck_assert_uint_eq(record.windows[0].wss_high_bytes, 440 * MIB);
    record.flags = FLAG_DAMON_ACTIVE;
    record.windows[0].damon_told = false;
    flag_memory_apply_own(&record);
    ck_assert_uint_eq(record.flags, FLAG_DAMON_ACTIVE);
    ck_assert_uint_eq(record.windows[0].wss_high_bytes, 500 * MIB);
    ck_assert_uint_eq(record.windows[2].wss_high_bytes, 440 * MIB);
}

/* Pages touched then or before are not known; pages touched afterwards are. */
TEST(plain, ages_too)
{
    struct ages_record ages = {.n_bins = 3};

    flags_at(0);
    ages.sample = record;
    ages.sample.resident_bytes = 500 * MIB;
    ages.bins[0] = (struct age_bin){0, 10, 20 * MIB, 10 * MIB, 30 * MIB};
    ages.bins[1] = (struct age_bin){10, 60, 400 * MIB, 390 * MIB, 410 * MIB};
    ages.bins[2] = (struct age_bin){60, HUGE_VAL, 0, 0, 1 * MIB};
    flag_memory_note(&memory, FLAG_MIGRATING, 100);
    flag_memory_apply_ages(&memory, &ages, 130);
    ck_assert_uint_eq(ages.sample.flags, FLAG_MIGRATING);
    ck_assert_uint_eq(ages.bins[0].high_bytes, 30 * MIB);
    ck_assert_uint_eq(ages.bins[1].low_bytes, 0);
    ck_assert_uint_eq(ages.bins[2].high_bytes, 500 * MIB);
}

/* It reads sampled pages, most huge ones among them: a method that counts what QEMU touches cannot
 * tell how many the guest touched, one that counts the vCPUs' touches can, and has no flag, and so
 * can a witness. */
TEST(plain, a_dirty_rate_calculation_reads)
{
    struct ages_record ages = {.n_bins = 1};

    flags_at(0);
    flag_memory_note(&memory, FLAG_DIRTY_RATE, 100);
    record.method = "zap";
    flag_memory_apply(&memory, &record, 105);
    ck_assert_uint_eq(record.flags, 0);
    ck_assert_uint_eq(record.windows[2].wss_low_bytes, 400 * MIB);
    record.method = "cold";
    ages.sample = record;
    ages.sample.resident_bytes = 500 * MIB;
    ages.bins[0] = (struct age_bin){0, 60, 20 * MIB, 10 * MIB, 30 * MIB};
    flag_memory_apply(&memory, &record, 130);
    ck_assert_uint_eq(record.windows[0].wss_low_bytes, 10 * MIB);
    ck_assert_uint_eq(record.windows[1].wss_low_bytes, 10 * MIB);
    ck_assert_uint_eq(record.windows[2].wss_low_bytes, 10 * MIB);
    flag_memory_apply_ages(&memory, &ages, 130);
    ck_assert_uint_eq(ages.bins[0].low_bytes, 0);
    ck_assert_uint_eq(ages.bins[0].high_bytes, 500 * MIB);

    flags_at(0);
    record.method = "idle";
    for (int w = 0; w < 3; w++)
        record.windows[w].dispute = (struct dispute){.periods = 1, .n = 200};
    record.resident_bytes = 500 * MIB;
    flag_memory_apply(&memory, &record, 130);
    ck_assert_uint_le(record.windows[2].wss_low_bytes, 392 * MIB); /* 1.9 % of 500 less */
    ck_assert_uint_ge(record.windows[2].wss_low_bytes, 388 * MIB);
}

TEST(plain, of_one_measurement)
{
    flags_at(0);
    record.flags = FLAG_DUMP | FLAG_THP;
    flag_memory_apply_own(&record);
    ck_assert_uint_eq(record.flags, FLAG_DUMP | FLAG_THP);
    ck_assert_uint_eq(record.windows[0].wss_low_bytes, 0);
    ck_assert_uint_eq(record.windows[2].wss_low_bytes, 0);
}
