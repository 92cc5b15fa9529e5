// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_fine.c  The estimate in base pages: known values, and coverage of its interval by
 * simulation. */
#include "measure/estimate/fine.h"

#include "all_of.h"
#include "base/random.h"
#include "fixture.h"
#include "measure/fine.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define HUGE (2ULL << 20)
#define PAGE 4096ULL
#define MIB (1ULL << 20)

/* qt(.975, df) of R 4.2. */
TEST(plain, students_quantiles)
{
    static const struct {
        double df, t;
    } known[] = {{1, 12.70620}, {2, 4.302653},  {3, 3.182446},  {5, 2.570582},
                 {8, 2.306004}, {16, 2.119905}, {32, 2.036933}, {500, 1.964720}};

    for (size_t i = 0; i < COUNT(known); i++)
        ck_assert_double_eq_tol(student_975(known[i].df), known[i].t, 0.003 * known[i].t);
}

static struct fine_tally alike(size_t n, double touched)
{
    struct fine_tally fine = {.n = n};

    for (size_t i = 0; i < n; i++)
        fine.touched[i] = touched;
    return fine;
}

TEST(plain, all_looked_at_is_exact)
{
    struct fine_tally fine = alike(8, 0.25);

    fine.touched[3] = 0.75;

    struct density d = fine_density(&fine, 8);

    ck_assert_double_eq_tol(d.value, 0.3125, 1e-12);
    ck_assert_double_eq_tol(d.low, 0.3125, 1e-12);
    ck_assert_double_eq_tol(d.high, 0.3125, 1e-12);
}

TEST(plain, none_looked_at_knows_nothing)
{
    struct fine_tally fine = {.n = 0};
    struct density d = fine_density(&fine, 100);

    ck_assert_double_eq(d.value, 1);
    ck_assert_double_eq_tol(d.low, 1.0 / 512, 1e-12);
    ck_assert_double_eq(d.high, 1);
}

TEST(plain, alike_ones_leave_room_for_others)
{
    struct fine_tally fine = alike(32, 1.0 / 16);
    struct density d = fine_density(&fine, 1e9);

    ck_assert_double_eq_tol(d.value, 1.0 / 16, 1e-12);
    /* 33 numbers, one of them 1: mean 3/33, deviation 0.9375 / sqrt(33), t(32) = 2.037 */
    ck_assert_double_eq_tol(d.high, 3.0 / 33 + 2.037 * 0.9375 / 33, 1e-3);
    ck_assert_double_eq_tol(d.low, 2.0 / 33 - 2.037 * 0.0625 / 33, 1e-3);
}

TEST(plain, untouched_in_the_second_window_widen)
{
    struct fine_tally steady = alike(32, 0.5);
    struct fine_tally changing = steady;

    for (size_t i = 0; i < 8; i++)
        changing.touched[i * 4] = 0;

    struct density a = fine_density(&steady, 1000);
    struct density b = fine_density(&changing, 1000);

    ck_assert_double_eq_tol(a.value, 0.5, 1e-12);
    ck_assert_double_eq_tol(b.value, 0.5, 1e-12);
    ck_assert_double_lt(b.low, 24.0 / 32 * 0.5);
    ck_assert_double_gt(b.high, (24 * 0.5 + 8) / 32);
    ck_assert_double_lt(b.low, a.low);
    ck_assert_double_gt(b.high, a.high);
}

/* One of nine was drawn and not measured; it may be empty or full, and nothing else is
 * uncertain. */
TEST(plain, lost_ones_may_be_empty_or_full)
{
    struct fine_tally fine = alike(8, 0.25);

    fine.n_lost = 1;

    struct density d = fine_density(&fine, 9);

    ck_assert_double_eq_tol(d.value, 0.25, 1e-12);
    ck_assert_double_eq_tol(d.low, 8 * 0.25 / 9, 1e-12);
    ck_assert_double_eq_tol(d.high, (8 * 0.25 + 1) / 9, 1e-12);

    struct fine_tally none_lost = alike(9, 0.25);
    struct density wide = fine_density(&fine, 1000);
    struct density narrow = fine_density(&none_lost, 1000);

    ck_assert_double_lt(wide.low, narrow.low);
    ck_assert_double_gt(wide.high, narrow.high);
}

TEST(plain, census_of_both_sizes)
{
    /* 64 huge pages of which 48 touched, 1000 base pages of which 300, and 10 unmeasurable. */
    struct tally tally = {
        .census = true,
        .resident_bytes = 64 * HUGE + 1010 * PAGE,
        .touched_bytes = 48 * HUGE + 300 * PAGE,
        .unmeasurable_bytes = 10 * PAGE,
        .n_strata = 2,
        .strata = {{.granularity_bytes = HUGE, .draws = 64 * 512, .touched_units = 48 * 512},
                   {.granularity_bytes = PAGE, .draws = 1000, .touched_units = 300}}};
    struct fine_tally fine = alike(48, 0.125);
    struct fine_estimate e;

    ck_assert_zero(fine_estimate(&tally, &fine, ALL_OF(0), &e));
    ck_assert_uint_eq(e.wss_bytes, 48 * HUGE / 8 + 300 * PAGE);
    ck_assert_uint_eq(e.wss_low_bytes, e.wss_bytes);
    ck_assert_uint_eq(e.wss_high_bytes, e.wss_bytes + 10 * PAGE);
    ck_assert_uint_eq(e.granularity_bytes, PAGE);
}

TEST(plain, without_huge_pages_it_is_the_measured)
{
    struct tally tally = {
        .n_strata = 1,
        .strata = {
            {.granularity_bytes = PAGE, .draws = 2000, .units = 2000, .touched_units = 500}}};
    struct fine_tally none = {.n = 0};
    struct wss_estimate measured;
    struct fine_estimate e;

    ck_assert_zero(wss_estimate(&tally, ALL_OF(4096 * MIB), &measured));
    ck_assert_zero(fine_estimate(&tally, &none, ALL_OF(4096 * MIB), &e));
    ck_assert_uint_eq(e.wss_bytes, measured.wss_bytes);
    ck_assert_uint_eq(e.wss_low_bytes, measured.wss_low_bytes);
    ck_assert_uint_eq(e.wss_high_bytes, measured.wss_high_bytes);
}

TEST(plain, nothing_touched)
{
    struct tally tally = {
        .n_strata = 1,
        .strata = {{.granularity_bytes = HUGE, .draws = 2000, .units = 400, .touched_units = 0}}};
    struct fine_tally none = {.n = 0};
    struct wss_estimate measured;
    struct fine_estimate e;

    ck_assert_zero(wss_estimate(&tally, ALL_OF(4096 * MIB), &measured));
    ck_assert_zero(fine_estimate(&tally, &none, ALL_OF(4096 * MIB), &e));
    ck_assert_uint_eq(e.wss_bytes, 0);
    ck_assert_uint_eq(e.wss_high_bytes, measured.wss_high_bytes);
}

/* --- what can be split ------------------------------------------------------------------------ */

TEST_EACH(plain, only_anonymous_memory_is_split, 0, 6)
{
    static const struct {
        struct ram_block block;
        const char *why; /* NULL: allowed */
    } cases[] = {
        {{.backing = RAM_BACKING_ANON, .huge_bytes = HUGE}, NULL},
        {{.backing = RAM_BACKING_SHMEM, .shared = true}, NULL}, /* without huge pages */
        {{.backing = RAM_BACKING_HUGETLB}, "hugetlb"},
        {{.backing = RAM_BACKING_ANON, .locked = true}, "locked"},
        {{.backing = RAM_BACKING_SHMEM, .shared = true, .huge_bytes = HUGE}, "is a file"},
        {{.backing = RAM_BACKING_SHMEM, .huge_bytes = HUGE}, "is a file"},
    };
    const struct fsroot captured = {.live = false};
    struct ram_block blocks[2] = {cases[0].block, cases[_i].block};
    const struct guest_ram ram = {.n_blocks = 2, .blocks = blocks};
    const struct target target = {.root = &captured, .ram = &ram};
    struct error error = {0};

    ck_assert_int_eq(fine_check(&target, &error), cases[_i].why ? -ENOTSUP : 0);
    if (cases[_i].why)
        ck_assert_ptr_nonnull(strstr(error.text, cases[_i].why));
}

/* --- coverage --------------------------------------------------------------------------------- */

#define POPULATION 600
#define RUNS 4000

/* How full the touched huge pages of a guest are. */
enum pattern {
    STRIDED,   /* all alike */
    SPARSE,    /* one page in each */
    FULL,      /* all wholly touched */
    UNIFORM,   /* anything */
    TWO_KINDS, /* every third full, the others nearly empty */
    FEW_FULL,  /* one in fifteen full, the others nearly empty: many samples miss those that matter
                */
    FEW_EMPTY, /* the opposite */
    SKEWED,    /* mostly little, sometimes much */
    PATTERNS
};

static double uniform(uint64_t *seed)
{
    return (double)random_below(seed, 1000000) / 1e6;
}

static double pages(double fraction)
{
    return fmax(1, round(fraction * 512)) / 512;
}

static double fullness(enum pattern pattern, size_t i, uint64_t *seed)
{
    switch (pattern) {
    case STRIDED:
        return 1.0 / 16;
    case SPARSE:
        return 1.0 / 512;
    case FULL:
        return 1;
    case UNIFORM:
        return pages(uniform(seed));
    case TWO_KINDS:
        return i % 3 == 0 ? 1 : 1.0 / 256;
    case FEW_FULL:
        return i % 15 == 0 ? 1 : 1.0 / 512;
    case FEW_EMPTY:
        return i % 15 == 0 ? 1.0 / 512 : 1;
    case SKEWED:
        return pages(pow(uniform(seed), 4));
    case PATTERNS:
        break;
    }
    return 0;
}

/* n of the population without replacement. */
static void draw(const double *population, size_t n, struct fine_tally *fine, uint64_t *seed)
{
    size_t left[POPULATION];

    for (size_t i = 0; i < POPULATION; i++)
        left[i] = i;
    fine->n = n;
    for (size_t i = 0; i < n; i++) {
        size_t k = random_below(seed, POPULATION - i);

        fine->touched[i] = population[left[k]];
        left[k] = left[POPULATION - 1 - i];
    }
}

/* Percent of the samples whose interval holds the mean of the population. */
static double coverage(const double *population, size_t n, uint64_t *seed)
{
    static struct fine_tally fine;
    double mean = 0;
    unsigned held = 0;

    for (size_t i = 0; i < POPULATION; i++)
        mean += population[i] / POPULATION;
    for (unsigned run = 0; run < RUNS; run++) {
        draw(population, n, &fine, seed);

        struct density d = fine_density(&fine, POPULATION);

        held += d.low - 1e-9 <= mean && mean <= d.high + 1e-9;
    }
    return 100.0 * held / RUNS;
}

/* 95 % or more, for every pattern and from few to many huge pages; 94, for 4000 runs are not
 * endless. */
TEST_EACH(plain, interval_covers, 0, PATTERNS)
{
    static const size_t sizes[] = {4, 8, 16, 32, 128};
    double population[POPULATION];
    uint64_t seed = 7 + (uint64_t)_i;

    for (size_t i = 0; i < POPULATION; i++)
        population[i] = fullness((enum pattern)_i, i, &seed);
    for (size_t k = 0; k < COUNT(sizes); k++) {
        double percent = coverage(population, sizes[k], &seed);

        ck_assert_msg(percent >= 94, "pattern %d, n = %zu: %.1f %%", _i, sizes[k], percent);
    }
}
