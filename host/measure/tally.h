// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file tally.h  The result of one collection: the estimators' only input.
 *
 * A census fills the byte counts, and in the strata draws and touched_units, both in base pages. A
 * panel fills the strata: draws of the same granularity, in which several draws that fell into one
 * huge page are one unit (one observation).
 */
#pragma once

#include "measure/dispute.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_MAX_STRATA 24 /* one for every folio order, base page << 0..18, and some room */

struct stratum {
    uint64_t granularity_bytes; /* bytes that one observation represents */
    uint64_t draws;             /* measurable present pages drawn */
    uint64_t units;             /* distinct observations among them */
    uint64_t touched_units;
};

/** Reasons why more, or fewer, pages may have been touched than were seen. */
enum tally_doubt {
    DOUBT_AGEING = 1 << 0,    /* the host's reclaim took accessed bits (measure/ageing.h) */
    DOUBT_STALE_TLB = 1 << 1, /* the TLB was not flushed (method/tlb_flush.h) */
    DOUBT_NEW_VCPU =
        1 << 2,             /* first touches by a newly plugged vCPU were not seen (method/zap.c) */
    DOUBT_DROPPED = 1 << 3, /* mappings that show touches were dropped (method/zap_all.c) */
    DOUBT_IDLE = 1 << 4,    /* the vCPUs hardly ran, or ran while pages were marked and read */
    DOUBT_BLIND = 1 << 5,   /* the vCPUs ran, but no touch was seen (run.c) */
    /* DAMON took accessed bits of unknown pages (measure/damon_taken.h) */
    DOUBT_DAMON = 1 << 6,
    DOUBT_BITS_TAKEN = 1 << 7, /* another process took accessed bits (method/sentinels.h) */
    /* QEMU's faults mapped neighbouring pages, too (method/first_mapping.h) */
    DOUBT_FIRST_MAPPING = 1 << 8,
    DOUBT_READ_BY_OTHERS = 1 << 9, /* another process read guest RAM (method/sentinels.h) */
};

#define HIDDEN_ANY UINT64_MAX

#define SPARSE_PART 64

struct tally {
    bool census;
    /* idle: some pages are unmeasurable, not only because DAMON took their bits */
    bool unmeasurable_otherwise;
    unsigned doubts; /* enum tally_doubt, or-ed */
    /* census, in bytes of guest RAM */
    uint64_t resident_bytes;
    uint64_t touched_bytes;
    uint64_t unmeasurable_bytes;
    uint64_t shared_bytes; /* resident, and also mapped by another process; only smaps knows it */
    uint64_t gone_bytes;   /* touched within the window, but no longer resident */
    /* part of the touched bytes that others may have touched, or that were touched earlier */
    uint64_t surplus_bytes;
    uint64_t missed_bytes; /* further bytes that the guest may have touched */
    uint64_t left_bytes;   /* unmapped by others within the window, and not resident any more */
    /* the longest end of guest RAM of which at most one part in SPARSE_PART is filled; 0: there is
     * none, or it is not known (several blocks, shared memory) */
    uint64_t sparse_end_bytes;
    /* panel, in pages drawn */
    uint64_t drawn_absent;
    /* part of drawn_absent: touched within the window, but no longer resident */
    uint64_t drawn_gone;
    uint64_t drawn_unmeasurable;
    /* census and panel */
    uint64_t
        hidden_units; /* units that read idle but may have been touched; HIDDEN_ANY: any number */
    /* units that count as touched here but may have been touched again later; HIDDEN_ANY: any
     * number */
    uint64_t younger_units;
    struct dispute within;  /* the witness's findings for the time in which touches count ... */
    struct dispute younger; /* ... and for the time after it, if any */
    uint64_t swapped_pages;
    size_t n_strata;
    struct stratum strata[TALLY_MAX_STRATA];
};

#define FINE_MAX_HUGE_PAGES 512

/** A sample of the touched huge pages, split and measured by base pages (measure/fine.h). */
struct fine_tally {
    size_t n;
    double touched[FINE_MAX_HUGE_PAGES]; /* for each, the touched fraction of its base pages */
    size_t n_lost; /* drawn, but could not be split, or joined again before the end */
};

/** Adds doubts: @p hidden_units units that read idle may have been touched. */
static inline void tally_doubt(struct tally *tally, unsigned doubts, uint64_t hidden_units)
{
    tally->doubts |= doubts;
    tally->hidden_units = hidden_units > HIDDEN_ANY - tally->hidden_units
                              ? HIDDEN_ANY
                              : tally->hidden_units + hidden_units;
}

/** The measurable present pages drawn, of all strata. */
static inline uint64_t tally_draws(const struct tally *tally)
{
    uint64_t draws = 0;

    for (size_t i = 0; i < tally->n_strata; i++)
        draws += tally->strata[i].draws;
    return draws;
}

/** The stratum for @p granularity_bytes, added if it is new; NULL if there is no more room. */
static inline struct stratum *tally_stratum(struct tally *tally, uint64_t granularity_bytes)
{
    for (size_t i = 0; i < tally->n_strata; i++)
        if (tally->strata[i].granularity_bytes == granularity_bytes)
            return &tally->strata[i];
    if (tally->n_strata == TALLY_MAX_STRATA)
        return NULL;

    struct stratum *stratum = &tally->strata[tally->n_strata++];

    *stratum = (struct stratum){.granularity_bytes = granularity_bytes};
    return stratum;
}
