// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_packing.c  Totals and what fits, against distributions that are known. */
#include "measure/estimate/packing.h"

#include "fixture.h"

#define DRAWS 200000

/* Half of the time nothing, half of the time all of its one byte. */
static const struct sketch_step coin[] = {{0, 0.5}, {1, 1}};
static double draws[DRAWS];

FIXTURE(cases, .timeout_s = 60);

/* Ten of them: a binomial distribution. P(X <= 7) = 0.9453, P(X <= 8) = 0.9893 */
TEST(cases, totals_are_binomial)
{
    struct packing_guest guests[10];
    uint64_t state = 1;
    double sum = 0;

    for (size_t g = 0; g < 10; g++)
        guests[g] = (struct packing_guest){coin, 2, 1};
    for (size_t i = 0; i < DRAWS; i++)
        sum += draws[i] = packing_total(guests, 10, &state);
    ck_assert_double_eq_tol(sum / DRAWS, 5, 0.02);
    ck_assert_double_eq(packing_quantile(draws, DRAWS, 0.5), 5);
    ck_assert_double_eq(packing_quantile(draws, DRAWS, 0.94), 7);
    ck_assert_double_eq(packing_quantile(draws, DRAWS, 0.95), 8);
    ck_assert_double_eq(packing_quantile(draws, DRAWS, 0.98), 8);
    ck_assert_double_eq(packing_quantile(draws, DRAWS, 0.995), 9);
    ck_assert_double_eq(packing_quantile(draws, DRAWS, 1), 10);
}

/* Room for four that use all: of n new guests more than four do so with P(4) = 0, P(5) = 1/32, P(6)
 * = 7/64, P(7) = 29/128. */
TEST(cases, what_fits_is_binomial)
{
    const struct packing_guest guest = {coin, 2, 1};
    uint64_t state = 2;

    for (size_t i = 0; i < DRAWS; i++)
        draws[i] = packing_fit(&guest, 1, 4 * 8, 8, &state);
    ck_assert_double_eq(packing_reached(draws, DRAWS, 0.01), 4);
    ck_assert_double_eq(packing_reached(draws, DRAWS, 0.028), 4);
    ck_assert_double_eq(packing_reached(draws, DRAWS, 0.035), 5);
    ck_assert_double_eq(packing_reached(draws, DRAWS, 0.10), 5);
    ck_assert_double_eq(packing_reached(draws, DRAWS, 0.12), 6);
    ck_assert_double_eq(packing_reached(draws, DRAWS, 0.22), 6);
    ck_assert_double_eq(packing_reached(draws, DRAWS, 0.24), 7);
}

TEST(cases, the_edges)
{
    static const struct sketch_step nothing[] = {{0, 1}};
    static const struct sketch_step more_than_all[] = {{3, 1}};
    const struct packing_guest idle = {nothing, 1, 1};
    const struct packing_guest greedy = {more_than_all, 1, 1};
    double one[] = {7};
    uint64_t state = 3;

    ck_assert_uint_eq(packing_fit(NULL, 0, 100, 1, &state), 0);
    ck_assert_uint_eq(packing_fit(&idle, 1, 100, 1, &state), PACKING_MAX_GUESTS);
    ck_assert_uint_eq(packing_fit(&idle, 1, -1, 1, &state), 0);
    ck_assert_uint_eq(packing_fit(&greedy, 1, 100, 1, &state), 100); /* never more than its RAM */
    ck_assert_double_eq(packing_quantile(one, 1, 0), 7);
    ck_assert_double_eq(packing_quantile(one, 1, 1), 7);
    ck_assert_double_eq(packing_reached(one, 1, 1), 7);
}
