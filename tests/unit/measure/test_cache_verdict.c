// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_cache_verdict.c  "fits" and "larger" only where they follow from what was counted. */
#include "measure/cache/verdict.h"

#include "fixture.h"

#include <math.h>
#include <string.h>

#define MIB (1ULL << 20)

/* A guest that ran for ten seconds on one of two caches of 32 MiB, and loaded little. */
static struct cache_seen fitting(void)
{
    struct cache_seen seen = {
        .window_s = 10,
        .est_window_s = 10,
        .n_vcpus = 2,
        .n_ran = 2,
        .ran_s = 15,
        .guest_share = 0.99,
        .counts = {true, COUNTED_LLC, 100000, 1000, 1000000, 900000, 1.0},
        .monitored = true,
        .n_caches = 2,
    };

    for (unsigned i = 0; i < 2; i++)
        seen.caches[i] = (struct cache_use){
            .id = i,
            .bytes = 32 * MIB,
            .usable_bytes = 32 * MIB,
            .occupied_bytes = i == 0 ? MIB : 0,
            .loaded_bytes = i == 0 ? MIB : 0,
            .loaded_while_full_bytes = CACHE_UNKNOWN,
        };
    return seen;
}

/* It holds the first cache, and loads it ten times. */
static struct cache_seen thrashing(void)
{
    struct cache_seen seen = fitting();

    seen.counts.misses = 5000000;
    seen.caches[0].occupied_bytes = 31 * MIB;
    seen.caches[0].loaded_bytes = 400 * MIB;
    seen.caches[0].loaded_while_full_bytes = 320 * MIB;
    return seen;
}

static enum cache_answer answer(struct cache_seen seen)
{
    cache_add_flags(&seen);

    struct cache_verdict verdict = cache_decide(&seen);

    ck_assert(verdict.reason && *verdict.reason);
    return verdict.answer;
}

static void assert_unknown(struct cache_seen seen, const char *word)
{
    cache_add_flags(&seen);

    struct cache_verdict verdict = cache_decide(&seen);

    ck_assert_msg(verdict.answer == CACHE_ANSWER_UNKNOWN, "%s, not unknown for %s",
                  cache_answer_name(verdict.answer), word);
    ck_assert_msg(strstr(verdict.reason, word) != NULL, "'%s' has no '%s'", verdict.reason, word);
}

TEST(plain, what_was_counted_decides)
{
    ck_assert_int_eq(answer(fitting()), CACHE_ANSWER_FITS);
    ck_assert_int_eq(answer(thrashing()), CACHE_ANSWER_LARGER);
}

/* The reason that applies to both a guest that seems to fit and one that does not. */
static const struct {
    unsigned flag;
    const char *word;
} always[] = {
    {CACHE_VCPUS_CHANGED, "plugged"},      {CACHE_NESTED, "virtual machine"},
    {CACHE_GROUP_CHANGED, "changed"},      {CACHE_CDP, "CDP"},
    {CACHE_CPU_GROUPS, "CPUs of its own"}, {CACHE_MBM_GAP, "not counted all the time"},
};

TEST_EACH(plain, a_doubt_about_all_leaves_no_answer, 0, COUNT(always))
{
    struct cache_seen fits = fitting();
    struct cache_seen larger = thrashing();

    fits.flags |= always[_i].flag;
    larger.flags |= always[_i].flag;
    assert_unknown(fits, always[_i].word);
    assert_unknown(larger, always[_i].word);
}

/* Flag, and what is left of either answer. */
static const struct {
    unsigned flag;
    enum cache_answer fits, larger;
} one_sided[] = {
    {CACHE_OTHER_CODE, CACHE_ANSWER_FITS, CACHE_ANSWER_UNKNOWN},
    {CACHE_VFIO, CACHE_ANSWER_UNKNOWN, CACHE_ANSWER_UNKNOWN},
    {CACHE_MBA, CACHE_ANSWER_UNKNOWN, CACHE_ANSWER_LARGER},
    {CACHE_MBM_FILTERED, CACHE_ANSWER_UNKNOWN, CACHE_ANSWER_UNKNOWN},
    {CACHE_FOREIGN_GROUP, CACHE_ANSWER_FITS, CACHE_ANSWER_UNKNOWN},
};

TEST_EACH(plain, a_doubt_about_one_answer_leaves_the_other, 0, COUNT(one_sided))
{
    struct cache_seen fits = fitting();
    struct cache_seen larger = thrashing();

    fits.flags |= one_sided[_i].flag;
    larger.flags |= one_sided[_i].flag;
    ck_assert_int_eq(answer(fits), one_sided[_i].fits);
    ck_assert_int_eq(answer(larger), one_sided[_i].larger);
}

TEST(plain, a_guest_that_did_not_run_says_nothing)
{
    struct cache_seen seen = fitting();

    seen.n_ran = 0;
    seen.ran_s = 0;
    assert_unknown(seen, "no vCPU ran");
    seen = fitting();
    seen.ran_s = 0.9; /* 64 MiB at 64 MB/s are more than a second */
    assert_unknown(seen, "too short");
    seen.ran_s = 1.1;
    ck_assert_int_eq(answer(seen), CACHE_ANSWER_FITS);
}

TEST(plain, misses_alone_do_not_tell)
{
    struct cache_seen seen = fitting();

    seen.monitored = false;
    seen.n_caches = 0;
    assert_unknown(seen, "misses alone");
}

TEST(plain, counts_of_the_pmu_are_not_needed_but_may_contradict)
{
    struct cache_seen seen = fitting();

    seen.counts = (struct cache_counts){0};
    ck_assert_int_eq(answer(seen), CACHE_ANSWER_FITS);
    seen = fitting();
    seen.counts.misses = 4 * MIB / 64;
    assert_unknown(seen, "not by the PMU");
    seen.counts.level = COUNTED_L2; /* AMD: these may have hit L3 */
    ck_assert_int_eq(answer(seen), CACHE_ANSWER_FITS);
}

TEST(plain, loads_that_are_not_known_say_nothing)
{
    struct cache_seen seen = fitting();

    seen.caches[1].loaded_bytes = CACHE_UNKNOWN;
    assert_unknown(seen, "not known");
    seen = thrashing();
    seen.caches[0].usable_bytes = CACHE_UNKNOWN;
    assert_unknown(seen, "not known");
    seen = thrashing();
    seen.caches[0].occupied_bytes = CACHE_UNKNOWN;
    assert_unknown(seen, "did not fill");
    seen = thrashing();
    seen.caches[0].loaded_while_full_bytes = CACHE_UNKNOWN;
    assert_unknown(seen, "did not fill");
    seen = fitting();
    seen.n_caches = 0;
    assert_unknown(seen, "not known");
}

/* Lines of a guest that is pushed out by others, one that streams through a part, one that was
 * full at the end only. */
TEST(plain, larger_needs_a_full_cache_loaded_twice_since)
{
    struct cache_seen seen = thrashing();

    seen.caches[0].occupied_bytes = 28 * MIB;
    assert_unknown(seen, "did not fill");
    seen = thrashing();
    seen.caches[0].loaded_while_full_bytes = 63 * MIB;
    assert_unknown(seen, "not load it twice");
    seen.caches[0].loaded_while_full_bytes = 64 * MIB;
    ck_assert_int_eq(answer(seen), CACHE_ANSWER_LARGER);
}

TEST(plain, what_a_former_owner_left_is_not_the_guests)
{
    struct cache_seen seen = thrashing();

    seen.caches[0].leftover_bytes = 8 * MIB;
    assert_unknown(seen, "did not fill");
    cache_add_flags(&seen);
    ck_assert(seen.flags & CACHE_LEFTOVER);
    seen.caches[0].leftover_bytes = 40 * MIB; /* of which some went */
    assert_unknown(seen, "did not fill");
    seen.caches[0].leftover_bytes = CACHE_UNKNOWN;
    assert_unknown(seen, "did not fill");
}

TEST(plain, a_share_of_the_cache_is_what_counts)
{
    struct cache_seen seen = thrashing();

    seen.caches[0].usable_bytes = 4 * MIB;
    seen.caches[0].occupied_bytes = 4 * MIB;
    seen.caches[0].loaded_while_full_bytes = 8 * MIB;
    ck_assert_int_eq(answer(seen), CACHE_ANSWER_LARGER);
    cache_add_flags(&seen);
    ck_assert(seen.flags & CACHE_LIMITED);
    seen = fitting();
    seen.caches[0].usable_bytes = 4 * MIB; /* of which a quarter was loaded */
    assert_unknown(seen, "did not fill");
}

TEST(plain, a_guest_on_several_caches_is_not_larger_than_one)
{
    struct cache_seen seen = thrashing();

    seen.caches[1].loaded_bytes = 2 * MIB;
    assert_unknown(seen, "several");
    seen = thrashing();
    seen.caches[1].occupied_bytes = 2 * MIB;
    assert_unknown(seen, "several");
    seen = fitting(); /* each of them is compared */
    seen.caches[1].occupied_bytes = 8 * MIB;
    ck_assert_int_eq(answer(seen), CACHE_ANSWER_FITS);
    cache_add_flags(&seen);
    seen.caches[1].loaded_bytes = 2 * MIB;
    assert_unknown(seen, "did not fill");
}

TEST(plain, host_code_in_the_vcpu_threads_is_not_the_guest)
{
    struct cache_seen seen = thrashing();

    seen.guest_share = 0.8;
    assert_unknown(seen, "QEMU");
    seen.guest_share = NAN;
    assert_unknown(seen, "QEMU");
}

TEST(plain, flags_of_what_was_counted)
{
    struct cache_seen seen = fitting();

    cache_add_flags(&seen);
    ck_assert_uint_eq(seen.flags, 0);
    seen.counts.counted_share = 0.98;
    seen.counts.level = COUNTED_UNKNOWN;
    seen.n_ran = 1;
    cache_add_flags(&seen);
    ck_assert_uint_eq(seen.flags, CACHE_MULTIPLEXED | CACHE_COUNTS_L2 | CACHE_IDLE_VCPUS);
    seen = fitting();
    seen.counts = (struct cache_counts){0};
    cache_add_flags(&seen);
    ck_assert_uint_eq(seen.flags, 0);
    for (unsigned f = 0; f < CACHE_FLAGS; f++)
        ck_assert(*cache_flag_name(f));
    ck_assert_ptr_null(cache_flag_name(CACHE_FLAGS));
}
