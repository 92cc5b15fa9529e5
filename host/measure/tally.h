// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file tally.h  What one collection saw: the only thing the estimators know.
 *
 * A census fills the byte counts, and of the strata draws and touched_units, both in base pages. A
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
    uint64_t granularity_bytes; /* what one observation stands for */
    uint64_t draws;             /* measurable present pages drawn */
    uint64_t units;             /* distinct observations among them */
    uint64_t touched_units;
};

/** Why more may have been touched than was seen, or fewer. */
enum tally_doubt {
    DOUBT_AGEING = 1 << 0,    /* the host's reclaim took accessed bits (measure/ageing.h) */
    DOUBT_STALE_TLB = 1 << 1, /* the TLB was not flushed (method/tlb_flush.h) */
    DOUBT_NEW_VCPU =
        1 << 2, /* a vCPU was plugged, whose first touches were not seen (method/zap.c) */
    DOUBT_DROPPED = 1 << 3,    /* mappings that tell of touches were dropped (method/zap_all.c) */
    DOUBT_IDLE = 1 << 4,       /* the vCPUs hardly ran, or ran while pages were marked and read */
    DOUBT_BLIND = 1 << 5,      /* they ran, and nothing at all was seen touched (run.c) */
    DOUBT_DAMON = 1 << 6,      /* DAMON took accessed bits, it is not known of which pages
                                  (measure/damon_taken.h) */
    DOUBT_BITS_TAKEN = 1 << 7, /* another process took accessed bits (method/sentinels.h) */
    DOUBT_FIRST_MAPPING = 1 << 8,  /* neighbours were mapped with a page (method/first_mapping.h) */
    DOUBT_READ_BY_OTHERS = 1 << 9, /* another process read guest RAM (method/sentinels.h) */
};

#define HIDDEN_ANY UINT64_MAX

struct tally {
    bool census;
    unsigned doubts; /* enum tally_doubt, or-ed */
    /* census, in bytes of guest RAM */
    uint64_t resident_bytes;
    uint64_t touched_bytes;
    uint64_t unmeasurable_bytes;
    uint64_t shared_bytes;  /* resident, and mapped by another process too; only smaps has it */
    uint64_t gone_bytes;    /* touched within the window, but no longer resident */
    uint64_t surplus_bytes; /* of what was touched, so many may have been touched by others, or
                               earlier */
    uint64_t missed_bytes;  /* so many more may have been touched by the guest */
    /* panel, in pages drawn */
    uint64_t drawn_absent;
    uint64_t drawn_gone; /* of these: touched within the window, but no longer resident */
    uint64_t drawn_unmeasurable;
    /* both */
    uint64_t
        hidden_units; /* so many that read idle may have been touched; HIDDEN_ANY: any number */
    uint64_t younger_units; /* so many that count as touched here may have been touched again later;
                               likewise */
    struct dispute within;  /* a witness's account of the time in which touches count here ... */
    struct dispute younger; /* ... and of that after it, where there is one */
    uint64_t swapped_pages;
    size_t n_strata;
    struct stratum strata[TALLY_MAX_STRATA];
};

#define FINE_MAX_HUGE_PAGES 512

/** Huge pages drawn from those that were touched, then split and measured by base pages
 * (measure/fine.h). */
struct fine_tally {
    size_t n;
    double
        touched[FINE_MAX_HUGE_PAGES]; /* of each, the fraction of its base pages that was touched */
    size_t n_lost; /* drawn, but could not be split, or were joined again before the end */
};

/** Adds a doubt: so many units that read idle may have been touched. */
static inline void tally_doubt(struct tally *tally, unsigned doubts, uint64_t hidden_units)
{
    tally->doubts |= doubts;
    tally->hidden_units = hidden_units > HIDDEN_ANY - tally->hidden_units
                              ? HIDDEN_ANY
                              : tally->hidden_units + hidden_units;
}

/** The stratum for @p granularity_bytes, added if it is new; NULL when there is no more room. */
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
