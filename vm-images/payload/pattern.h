/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file pattern.h  Which pages of a region are hot: the truth that measurements are compared with.
 *
 * Theory of Operation: a pattern is an injective map from rank j = 0, 1, 2, ... to page number
 * 0 .. total_pages-1. A hot set of k pages is the ranks 0 .. k-1, so that it holds exactly k pages
 * and a smaller hot set is always part of a larger one.
 *
 *   contiguous   page(j) = j
 *   strided      page(j) = the j-th page of runs of run_pages, one run at each multiple of
 *                stride_pages
 *   random       page(j) = a permutation of the region, chosen by the seed
 *
 * The permutation mixes numbers of b bits, 2^b being the smallest power of two >= total_pages, by
 * rounds of multiplication by an odd number, addition and x ^= x >> s with 2s >= b. Each of the
 * three is a bijection, so the whole is; what falls outside the region is mixed again until it
 * lands inside (cycle walking, less than two rounds on average), which keeps it a bijection.
 *
 * Pure functions without memory of their own: the bare payload and host tools share them.
 */
#ifndef VMWSS_PATTERN_H
#define VMWSS_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#define PATTERN_ROUNDS 4
/** Rank of a page that no hot set contains. */
#define PATTERN_NO_RANK UINT64_MAX

enum pattern_kind { PATTERN_CONTIGUOUS, PATTERN_STRIDED, PATTERN_RANDOM };

struct pattern {
    enum pattern_kind kind;
    uint64_t total_pages;
    uint64_t stride_pages;
    uint64_t run_pages; /**< at most stride_pages */
    uint64_t mask;      /**< 2^b - 1 */
    unsigned int shift;
    uint64_t multiplier[PATTERN_ROUNDS];
    uint64_t inverse[PATTERN_ROUNDS];
    uint64_t addend[PATTERN_ROUNDS];
};

/** Steele and others' splitmix64: turns any seed, 0 too, into well mixed words. */
static inline uint64_t pattern_next_word(uint64_t *state)
{
    uint64_t word = *state += 0x9e3779b97f4a7c15;

    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

/** Inverse of an odd number modulo 2^64, by Newton's iteration: 3, 6, 12, 24, 48, 96 right bits. */
static inline uint64_t pattern_odd_inverse(uint64_t odd)
{
    uint64_t inverse = odd;

    for (int i = 0; i < 5; i++)
        inverse *= 2 - odd * inverse;
    return inverse;
}

/** Fills in a pattern. stride_pages and run_pages, which is 1 at first, count for the strided kind
 * only; stride_pages is at least 1. */
static inline void pattern_init(struct pattern *pattern, enum pattern_kind kind,
                                uint64_t total_pages, uint64_t stride_pages, uint64_t seed)
{
    unsigned int bits = 0;

    while (bits < 63 && (UINT64_C(1) << bits) < total_pages)
        bits++;
    pattern->kind = kind;
    pattern->total_pages = total_pages;
    pattern->stride_pages = stride_pages;
    pattern->run_pages = 1;
    pattern->mask = (UINT64_C(1) << bits) - 1;
    pattern->shift = (bits + 1) / 2;
    for (int round = 0; round < PATTERN_ROUNDS; round++) {
        pattern->multiplier[round] = pattern_next_word(&seed) | 1;
        pattern->inverse[round] = pattern_odd_inverse(pattern->multiplier[round]);
        pattern->addend[round] = pattern_next_word(&seed);
    }
}

/** How many pages the largest hot set of this pattern has. */
static inline uint64_t pattern_capacity(const struct pattern *pattern)
{
    uint64_t rest = pattern->total_pages % pattern->stride_pages;

    if (pattern->kind == PATTERN_STRIDED)
        return pattern->total_pages / pattern->stride_pages * pattern->run_pages +
               (rest < pattern->run_pages ? rest : pattern->run_pages);
    return pattern->total_pages;
}

static inline uint64_t pattern_mix(const struct pattern *pattern, uint64_t x)
{
    for (int round = 0; round < PATTERN_ROUNDS; round++) {
        x = (x * pattern->multiplier[round] + pattern->addend[round]) & pattern->mask;
        x ^= x >> pattern->shift;
    }
    return x;
}

static inline uint64_t pattern_unmix(const struct pattern *pattern, uint64_t x)
{
    for (int round = PATTERN_ROUNDS; round-- > 0;) {
        /* Twice the shift is no less than the width, so this step is its own inverse. */
        x ^= x >> pattern->shift;
        x = ((x - pattern->addend[round]) * pattern->inverse[round]) & pattern->mask;
    }
    return x;
}

/** The page of rank j; j is below pattern_capacity(). */
static inline uint64_t pattern_page(const struct pattern *pattern, uint64_t j)
{
    switch (pattern->kind) {
    case PATTERN_STRIDED:
        return j / pattern->run_pages * pattern->stride_pages + j % pattern->run_pages;
    case PATTERN_RANDOM:
        do
            j = pattern_mix(pattern, j);
        while (j >= pattern->total_pages);
        return j;
    default:
        return j;
    }
}

/** The rank of a page, or PATTERN_NO_RANK: the inverse of pattern_page(). */
static inline uint64_t pattern_rank(const struct pattern *pattern, uint64_t page)
{
    if (page >= pattern->total_pages)
        return PATTERN_NO_RANK;
    switch (pattern->kind) {
    case PATTERN_STRIDED:
        if (page % pattern->stride_pages >= pattern->run_pages)
            return PATTERN_NO_RANK;
        return page / pattern->stride_pages * pattern->run_pages + page % pattern->stride_pages;
    case PATTERN_RANDOM:
        do
            page = pattern_unmix(pattern, page);
        while (page >= pattern->total_pages);
        return page;
    default:
        return page;
    }
}

/** Whether a hot set of hot_pages pages contains this page. */
static inline bool pattern_is_hot(const struct pattern *pattern, uint64_t page, uint64_t hot_pages)
{
    uint64_t rank = pattern_rank(pattern, page);

    return rank != PATTERN_NO_RANK && rank < hot_pages;
}

#endif
