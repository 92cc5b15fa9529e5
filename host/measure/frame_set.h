// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file frame_set.h  A set of page frames of this host: one bit for each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct frame_set {
    uint64_t n_frames; /* the set can contain frames 0 .. n_frames - 1 */
    uint64_t *words;
};

/** Makes an empty set; free .words. 0; -1: out of memory. */
static inline int frame_set_make(struct frame_set *set, uint64_t n_frames)
{
    set->n_frames = n_frames;
    set->words = calloc(n_frames / 64 + 1, sizeof(*set->words));
    return set->words ? 0 : -1;
}

static inline void frame_set_add(struct frame_set *set, uint64_t pfn)
{
    if (pfn < set->n_frames)
        set->words[pfn / 64] |= 1ULL << (pfn % 64);
}

static inline bool frame_set_has(const struct frame_set *set, uint64_t pfn)
{
    return pfn < set->n_frames && (set->words[pfn / 64] >> (pfn % 64) & 1);
}
