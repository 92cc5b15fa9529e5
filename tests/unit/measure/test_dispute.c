// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_dispute.c  When a witness disputes accessed bits, and what bounds the two make. */
#include "all_of.h"
#include "base/page_sizes.h"
#include "base/random.h"
#include "fixture.h"
#include "measure/dispute.h"
#include "measure/estimate/wss.h"
#include "measure/witness_alone.h"

#include <math.h>

#define MIB (1ULL << 20)
#define RESIDENT (200 * MIB)

TEST(plain, tails_are_those_of_the_binomial_distribution)
{
    ck_assert(fabs(binomial_tail(10, .5, 5) - .623046875) < 1e-12);
    ck_assert(fabs(binomial_tail(200, .005, 1) - (1 - pow(.995, 200))) < 1e-12);
    ck_assert_double_eq(binomial_tail(66, .01, 0), 1);
    ck_assert_double_eq(binomial_tail(66, 0, 1), 0);
    ck_assert_double_eq(binomial_tail(66, 1, 66), 1);
}

/* How many pages must differ. */
TEST(plain, few_pages_prove_a_disturbance)
{
    static const struct {
        float n, noise, others, missed;
    } cases[] = {
        {66, 0, 5, 5}, {200, 0, 7, 7}, {2000, 0, 24, 24}, {200, .05F, 25, 7}, {66, .5F, 48, 5},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct witness_count count = {.n = cases[i].n, .noise = cases[i].noise};

        for (float differ = 0; differ <= cases[i].n; differ++) {
            count.others = differ;
            ck_assert_msg(witness_disputes(&count) == (differ >= cases[i].others),
                          "n %g noise %g others %g", (double)count.n, (double)count.noise,
                          (double)differ);
            count.others = 0;
            count.missed = differ;
            ck_assert(witness_disputes(&count) == (differ >= cases[i].missed));
            count.missed = 0;
        }
    }
    ck_assert(!witness_disputes(&(struct witness_count){0}));
}

/* A guest of which others touch 0.3 %, rings and firmware: no more than 1 period in 1,000. */
TEST(plain, false_alarms_are_rare)
{
    uint64_t seed = 7;
    unsigned alarms = 0;
    const unsigned periods = 100000;

    for (unsigned p = 0; p < periods; p++) {
        struct witness_count count = {.n = 200};

        for (unsigned i = 0; i < 200; i++)
            count.others += random_below(&seed, 1000) < 3 ? 1 : 0;
        alarms += witness_disputes(&count);
    }
    ck_assert_uint_le(alarms, periods / 1000);
}

static struct wss_estimate estimate(const struct tally *tally)
{
    struct wss_estimate out;

    ck_assert_zero(wss_estimate(tally, ALL_OF(RESIDENT), &out));
    return out;
}

static struct tally census(uint64_t touched_bytes)
{
    return (struct tally){
        .census = true, .resident_bytes = RESIDENT, .touched_bytes = touched_bytes};
}

TEST(plain, a_witness_that_agrees_changes_nothing)
{
    struct tally tally = census(80 * MIB);
    const struct witness_count count = {.n = 200, .both = 80};

    dispute_add(&tally.within, &count, false);

    struct wss_estimate wss = estimate(&tally);

    ck_assert_uint_eq(wss.wss_low_bytes, 80 * MIB);
    ck_assert_uint_eq(wss.wss_high_bytes, 80 * MIB);
    ck_assert(!wss.disputed);
}

/* 64 of 80 MiB were read by somebody else: the bounds hold 16 as well as 80. */
TEST(plain, bounds_hold_both)
{
    struct tally tally = census(80 * MIB);
    const struct witness_count count = {.n = 200, .both = 16, .others = 64};

    dispute_add(&tally.within, &count, true);

    struct wss_estimate wss = estimate(&tally);

    ck_assert_uint_le(wss.wss_low_bytes, 16 * MIB);
    ck_assert_uint_ge(wss.wss_low_bytes, 4 * MIB);
    ck_assert_uint_eq(wss.wss_high_bytes, 80 * MIB);
    ck_assert(wss.disputed);
}

/* The bits of 60 of 64 MiB were taken. */
TEST(plain, bounds_hold_what_was_missed)
{
    struct tally tally = census(4 * MIB);
    const struct witness_count count = {.n = 200, .both = 4, .missed = 60};

    dispute_add(&tally.within, &count, true);

    struct wss_estimate wss = estimate(&tally);

    ck_assert_uint_eq(wss.wss_low_bytes, 4 * MIB);
    ck_assert_uint_ge(wss.wss_high_bytes, 64 * MIB);
    ck_assert_uint_le(wss.wss_high_bytes, 80 * MIB);
}

/* With a witness that saw nothing missing, what the host's reclaim may have hidden is some percent,
 * not everything. */
TEST(plain, a_witness_bounds_what_ageing_hides)
{
    struct tally tally = census(80 * MIB);
    const struct witness_count count = {.n = 200, .both = 80};

    tally_doubt(&tally, DOUBT_AGEING, HIDDEN_ANY);
    ck_assert_uint_eq(estimate(&tally).wss_high_bytes, RESIDENT);
    dispute_add(&tally.within, &count, false);
    ck_assert_uint_ge(estimate(&tally).wss_high_bytes, 83 * MIB);
    ck_assert_uint_le(estimate(&tally).wss_high_bytes, 85 * MIB);
    /* Other doubts have nothing to do with it. */
    tally_doubt(&tally, DOUBT_NEW_VCPU, HIDDEN_ANY);
    ck_assert_uint_eq(estimate(&tally).wss_high_bytes, RESIDENT);
}

/* The pages that the witness dropped keep their touches, others do not. */
TEST(plain, watched_pages_may_be_the_only_ones_that_keep_their_touches)
{
    const struct witness_count was = {.n = 200, .both = 83};
    struct witness_count count = was;
    struct dispute dispute = {0};

    ck_assert(!witness_misses_share(&count, 0.415));
    ck_assert(!witness_misses_share(&count, 0.34));
    ck_assert(count.both == 83 && count.missed == 0);
    ck_assert(witness_misses_share(&count, 0.17));
    ck_assert(count.both == 34 && count.missed == 49);
    dispute_add(&dispute, &count, true);
    ck_assert_double_ge(0.17 + dispute_missing(&dispute), 0.42);
    count = (struct witness_count){0};
    ck_assert(!witness_misses_share(&count, 0));
}

/* Another program drops all mappings, and the faults that follow are too many to be kept. */
TEST(plain, lost_faults_confirm_nothing)
{
    /* DAMON takes the neighbours that QEMU's faults map for touched; 192 of 200 have no fault. */
    const struct witness_count neighbours = {.n = 200, .both = 8, .others = 184, .unseen = 8};
    const struct witness_count taken = {.n = 200, .both = 8, .missed = 30, .unseen = 162};
    const struct witness_count calm = {.n = 200, .both = 40, .unseen = 160};
    struct tally tally = census(184 * MIB);
    struct dispute dispute = {0};

    ck_assert(witness_disputes(&neighbours));
    dispute_add(&tally.within, &neighbours, true);
    ck_assert_uint_le(estimate(&tally).wss_low_bytes, 8 * MIB);
    ck_assert_uint_ge(estimate(&tally).wss_low_bytes, 2 * MIB);

    ck_assert(witness_disputes(&taken));
    dispute_add(&dispute, &taken, true);
    ck_assert_double_ge(dispute_missing(&dispute), 0.95);

    /* Where others are known to take bits, it is not the witness that tells how many. */
    ck_assert(!witness_disputes(&calm));
    tally = census(40 * MIB);
    dispute_add(&tally.within, &calm, false);
    ck_assert_uint_eq(estimate(&tally).wss_high_bytes, 40 * MIB);
    tally_doubt(&tally, DOUBT_AGEING, HIDDEN_ANY);
    ck_assert_uint_ge(estimate(&tally).wss_high_bytes, 196 * MIB);
}

/* Somebody reads all of RAM each period: no sum of periods falls below what one of them proves. */
TEST(plain, periods_add_up)
{
    struct tally tally = census(200 * MIB);
    const struct witness_count count = {.n = 200, .both = 16, .others = 184};

    for (unsigned i = 0; i < 100; i++)
        dispute_add(&tally.within, &count, true);

    struct wss_estimate wss = estimate(&tally);

    ck_assert_uint_le(wss.wss_low_bytes, 16 * MIB);
    ck_assert_uint_ge(wss.wss_low_bytes, 8 * MIB);
    ck_assert(dispute_surplus(&tally.within) <= 1);
}

/* The guest touched 8 % of the half that was there when the pages were drawn, and QEMU has written
 * all. */
TEST(plain, memory_that_came_after_the_pages_were_drawn)
{
    struct tally tally = census(200 * MIB);
    struct witness_count count = {.n = 200, .both = 16, .others = 184, .watched_bytes = 100 * MIB};

    dispute_add(&tally.within, &count, true);
    ck_assert_uint_le(estimate(&tally).wss_low_bytes, 8 * MIB);
    ck_assert_uint_ge(estimate(&tally).wss_low_bytes, 4 * MIB);
    count.watched_bytes = 300 * MIB; /* the rest has left since */
    tally = census(200 * MIB);
    dispute_add(&tally.within, &count, true);
    ck_assert_uint_ge(estimate(&tally).wss_low_bytes, 8 * MIB);
    ck_assert_uint_le(estimate(&tally).wss_low_bytes, 16 * MIB);
}

/* A third of RAM is read again and again: most of it before pages are dropped, too. */
TEST(plain, early_touches_are_others_where_others_are_at_work)
{
    struct tally tally = census(80 * MIB);
    const struct witness_count count = {.n = 200, .both = 16, .others = 10, .early = 54};

    ck_assert(witness_disputes(&count));
    dispute_add(&tally.within, &count, true);
    ck_assert_uint_le(estimate(&tally).wss_low_bytes, 16 * MIB);
    tally = census(80 * MIB);
    dispute_add(&tally.within, &(struct witness_count){.n = 200, .both = 70, .early = 10}, false);
    ck_assert_uint_eq(estimate(&tally).wss_low_bytes, 80 * MIB);
}

/* The ring of a device, two pages in ten ticks of a panel: they do not add up. */
TEST(plain, undisputed_periods_do_not_add_up)
{
    struct tally tally = census(80 * MIB);
    struct witness_count count = {.n = 64, .both = 25};

    for (unsigned i = 0; i < 10; i++) {
        count.others = i % 5 == 0;
        dispute_add(&tally.within, &count, witness_disputes(&count));
    }
    ck_assert_uint_ge(estimate(&tally).wss_low_bytes, 77 * MIB);
    ck_assert_uint_lt(estimate(&tally).wss_low_bytes, 80 * MIB);
}

/* Touches by others in a younger age may hide an older one, so an older bin may hold more, and a
 * younger one less. */
TEST(plain, younger_touches_bound_older_ages)
{
    struct tally tally = census(50 * MIB);
    const struct witness_count others = {.n = 200, .both = 10, .others = 40};
    const struct witness_count missed = {.n = 200, .both = 10, .missed = 40};

    dispute_add(&tally.younger, &others, true);
    ck_assert_uint_ge(estimate(&tally).wss_high_bytes, 90 * MIB);
    ck_assert_uint_eq(estimate(&tally).wss_low_bytes, 50 * MIB);
    tally.younger = (struct dispute){0};
    dispute_add(&tally.younger, &missed, true);
    ck_assert_uint_eq(estimate(&tally).wss_high_bytes, 50 * MIB);
    ck_assert_uint_le(estimate(&tally).wss_low_bytes, 10 * MIB);
}

static bool judge(const struct tally *tally, float faulted, struct witness_count *count)
{
    *count = (struct witness_count){.n = 800, .missed = faulted};
    return witness_alone_judge(tally, count);
}

/* mglru has 16 of 200 MiB, or 80 as somebody read 64, or 2 as somebody took bits. */
TEST(plain, a_witness_alone_disputes_what_chance_does_not_explain)
{
    struct tally tally = census(16 * MIB);
    struct witness_count count;

    ck_assert(!judge(&tally, 64, &count));
    ck_assert(!judge(&tally, 40, &count) && !judge(&tally, 88, &count));
    ck_assert(count.others <= 0 && count.missed <= 0 && count.both >= 88);

    tally = census(80 * MIB);
    ck_assert(judge(&tally, 64, &count));
    ck_assert(fabs((double)count.others - 256) < 1 && count.missed <= 0);
    dispute_add(&tally.within, &count, true);
    ck_assert_uint_le(estimate(&tally).wss_low_bytes, 16 * MIB);
    ck_assert_uint_ge(estimate(&tally).wss_low_bytes, 8 * MIB);
    ck_assert_uint_eq(estimate(&tally).wss_high_bytes, 80 * MIB);

    /* Pages that were dropped long after they were marked accuse nobody: bounds only. */
    tally = census(36 * MIB);
    count = (struct witness_count){.n = 800, .missed = 64, .noise = .2F};
    ck_assert(!witness_alone_judge(&tally, &count));
    dispute_add(&tally.within, &count, false);
    ck_assert_uint_le(estimate(&tally).wss_low_bytes, 16 * MIB);
    ck_assert_uint_eq(estimate(&tally).wss_high_bytes, 36 * MIB);

    tally = census(2 * MIB);
    ck_assert(judge(&tally, 64, &count));
    dispute_add(&tally.within, &count, true);
    ck_assert_uint_eq(estimate(&tally).wss_low_bytes, 2 * MIB);
    ck_assert_uint_ge(estimate(&tally).wss_high_bytes, 16 * MIB);

    /* QEMU's own memory may be most of it; of folios all pages count for one. */
    tally = census(80 * MIB);
    tally.surplus_bytes = 64 * MIB;
    ck_assert(!judge(&tally, 64, &count));
    tally.surplus_bytes = 0;
    tally_stratum(&tally, 16 * base_page_bytes())->draws = 100;
    ck_assert(!judge(&tally, 64, &count));

    count = (struct witness_count){0};
    ck_assert(!witness_alone_judge(&tally, &count));
}
