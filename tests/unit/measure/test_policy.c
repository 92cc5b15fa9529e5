// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_policy.c  When to measure next, and how many pages: pace and precision. */
#include "base/wilson.h"
#include "fixture.h"
#include "measure/estimate/pace.h"
#include "measure/estimate/precision.h"

#include <math.h>

#define MIB (1ULL << 20)

static double half_width(double p, double n)
{
    struct interval bounds = wilson_interval(p * n, n, Z_95);

    return (bounds.high - bounds.low) / 2;
}

/* n draws are enough, and one in fifty less would not be. */
TEST(plain, precision_is_reached_and_not_overdone)
{
    static const double fractions[] = {0, .001, .01, .05, .1, .3, .5, .9, 1};
    static const double widths[] = {.001, .005, .01, .022, .05, .1, .2};

    for (size_t i = 0; i < COUNT(fractions); i++)
        for (size_t j = 0; j < COUNT(widths); j++) {
            double p = fractions[i];
            double n = (double)precision_samples(widths[j], p, UINT64_MAX / 2, 1);

            ck_assert_msg(half_width(p, n) <= widths[j] * 1.0001, "p %g e %g n %g: %g", p,
                          widths[j], n, half_width(p, n));
            if (n > 50)
                ck_assert(half_width(p, n * .98) > widths[j]);
        }
}

TEST(plain, precision_knows_small_guests)
{
    ck_assert_uint_eq(precision_samples(.5, .5, 1000, 1), 1);
    ck_assert_uint_le(precision_samples(.01, .5, 1000, 1), 1000);
    ck_assert_uint_lt(precision_samples(.01, .5, 20000, 1), precision_samples(.01, .5, 2000000, 1));
    ck_assert_uint_eq(precision_samples(.0001, .5, 300, 1), 300); /* all of them */
    /* Draws that share huge pages: as many more. */
    ck_assert_uint_ge(precision_samples(.02, .5, UINT64_MAX / 2, 4),
                      4 * precision_samples(.02, .5, UINT64_MAX / 2, 1) - 4);
}

TEST(plain, worst_fraction_of_an_interval)
{
    ck_assert(precision_worst(.1, .2) == .2);
    ck_assert(precision_worst(.7, .9) == .7);
    ck_assert(precision_worst(.4, .6) == .5);
}

TEST(plain, pace_doubles_while_nothing_changes)
{
    struct pace pace = pace_start(10, 160);

    ck_assert(pace_next(&pace, 60 * MIB, 68 * MIB, 0) == 10); /* nothing to compare with */
    ck_assert(pace_next(&pace, 62 * MIB, 70 * MIB, 0) == 20);
    ck_assert(pace_next(&pace, 58 * MIB, 66 * MIB, 0) == 40);
    ck_assert(pace_next(&pace, 58 * MIB, 66 * MIB, 0) == 80);
    ck_assert(pace_next(&pace, 58 * MIB, 66 * MIB, 0) == 160);
    ck_assert(pace_next(&pace, 58 * MIB, 66 * MIB, 0) == 160);
    ck_assert(pace_next(&pace, 98 * MIB, 106 * MIB, 0) == 10); /* it grew */
    ck_assert(pace_next(&pace, 98 * MIB, 106 * MIB, 0) == 20);
    ck_assert(pace_next(&pace, 0, 1 * MIB, 0) == 10); /* it fell */
}

TEST(plain, pace_within_other_limits)
{
    struct pace pace = pace_start(10, 160);

    pace_next(&pace, 60 * MIB, 68 * MIB, 0);
    ck_assert(pace_next(&pace, 60 * MIB, 68 * MIB, 0) == 20);
    pace_limit(&pace, 10, 160);
    ck_assert(pace.period_s == 20); /* the same */
    pace_limit(&pace, 30, 60);
    ck_assert(pace.period_s == 30);
    ck_assert(pace_next(&pace, 60 * MIB, 68 * MIB, 0) == 60);
    pace_limit(&pace, 30, 0);
    ck_assert(pace.period_s == 30);
    ck_assert(pace_next(&pace, 60 * MIB, 68 * MIB, 0) == 30);
    pace_limit(&pace, 10, 160);
    ck_assert(pace_next(&pace, 60 * MIB, 68 * MIB, 0) == 60);
    pace_forget(&pace);
    ck_assert(pace.period_s == 10);
    ck_assert(pace_next(&pace, 60 * MIB, 68 * MIB, 0) == 10); /* nothing to compare with */
}

TEST(plain, pace_of_a_census)
{
    struct pace pace = pace_start(10, 160);

    pace_next(&pace, 64 * MIB, 64 * MIB, 8 * MIB);
    ck_assert(pace_next(&pace, 65 * MIB, 65 * MIB, 8 * MIB) == 20);
    ck_assert(pace_next(&pace, 95 * MIB, 95 * MIB, 8 * MIB) == 10);
}

TEST(plain, pace_that_is_not_stretched)
{
    struct pace pace = pace_start(10, 0);

    for (int i = 0; i < 10; i++)
        ck_assert(pace_next(&pace, 1, 2, 0) == 10);
}

static uint64_t noise(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return *state >> 33;
}

/*
 * A day of a guest, seen every 10 s or by the pace: stable for long stretches, with a jump every
 * hour or so, and 2 % of the resident memory of noise. Saved: the share of measurements not made.
 * Lost: how far the number last reported is from the truth, on average, in points of what is
 * resident.
 */
TEST(plain, intermittent_tracking_saves_work)
{
    struct pace pace = pace_start(10, 160);
    uint64_t state = 42;
    uint64_t truth = 300 * MIB;
    uint64_t reported = truth;
    double due_s = 0;
    double lost = 0;
    unsigned measured = 0;
    const unsigned periods = 8640;

    for (unsigned i = 0; i < periods; i++) {
        if (noise(&state) % 360 == 0)
            truth = (50 + noise(&state) % 900) * MIB;
        if (i * 10 >= due_s) {
            reported = truth + (noise(&state) % 20) * MIB - 10 * MIB;
            due_s = i * 10 + pace_next(&pace, reported - 22 * MIB, reported + 22 * MIB, 0);
            measured++;
        }
        lost += fabs((double)reported - (double)truth) / (double)(1000 * MIB) / periods;
    }
    printf("intermittent tracking: %.1f %% of the measurements saved, %.2f points lost\n",
           100.0 * (periods - measured) / periods, 100 * lost);
    ck_assert(measured <= periods / 5);
    ck_assert(lost <= .04);
}
