// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file page_set.h  The pages that one measurement follows, and the state of each.
 *
 * A census follows every page of guest RAM, a panel n pages drawn at random. State and granularity
 * take two bytes per page; a panel also has the page numbers and units, eight bytes each.
 */
#pragma once

#include "guest/ram/guest_ram.h"
#include "measure/tally.h"

enum page_state {
    PAGE_ABSENT,       /* no host page behind it */
    PAGE_SWAPPED,      /* swapped out */
    PAGE_UNMEASURABLE, /* resident, but a touch could not be seen */
    PAGE_IDLE,         /* marked, no touch seen so far */
    PAGE_TOUCHED,
    PAGE_GONE, /* touched within the window, but no longer resident (ballooned, discarded) ... */
    PAGE_GONE_TO_SWAP, /* ... since it was swapped out */
};

#define PAGE_STATES (PAGE_GONE_TO_SWAP + 1)

struct page_set {
    const struct guest_ram *ram;
    uint64_t n;
    /* page numbers, strictly ascending; NULL in a census, where the i-th page is page i */
    uint64_t *page;
    uint64_t *unit; /* HVA of the beginning of the page's folio or mapping; NULL in a census */
    uint8_t *state; /* enum page_state */
    uint8_t *order; /* granularity: base_page_bytes() << order */
    /* a panel whose guest loses all of KVM's mappings at each marking, so that its other pages
     * fault, too */
    bool flooded;
};

/** Makes a set of every page of @p ram. 0 or -ENOMEM; free with page_set_free(). */
int page_set_census(struct page_set *set, const struct guest_ram *ram);

/**
 * Draws a simple random sample without replacement of @p n pages of @p ram (all of them if it has
 * fewer). If some pages are taken (guest_ram.taken), draws about as many from the others, which is
 * a random sample, too.
 * @param seed  the same seed draws the same pages
 */
int page_set_panel(struct page_set *set, const struct guest_ram *ram, uint64_t n, uint64_t seed);

/** The number of pages to draw for @p samples present ones if the share @p presence of RAM is
 * present. Absent pages belong to the panel too, because an absent page that appears was
 * touched. */
uint64_t page_set_draws(uint64_t samples, double presence);

/** Makes a panel of @p n pages that the caller fills in. */
int page_set_blank(struct page_set *set, const struct guest_ram *ram, uint64_t n);
/** Keeps only the first @p n page numbers of a panel whose pages have no other data yet, and frees
 * the memory of the rest. */
void page_set_keep(struct page_set *set, uint64_t n);
void page_set_free(struct page_set *set);

/** Returns true if the set has every page of guest RAM and is not a panel. */
static inline bool page_set_is_census(const struct page_set *set)
{
    return !set->page;
}

static inline uint64_t page_set_page(const struct page_set *set, uint64_t i)
{
    return set->page ? set->page[i] : i;
}

static inline uint64_t page_set_hva(const struct page_set *set, uint64_t i)
{
    return guest_ram_hva(set->ram, page_set_page(set, i));
}

/** The begin of the page's folio or mapping, which in QEMU's memory need not be at a multiple of
 * its size. A census does not record it; then units of that size are assumed to be aligned. */
static inline uint64_t page_set_unit_hva(const struct page_set *set, uint64_t i)
{
    const uint64_t hva = page_set_hva(set, i);

    if (set->order[i] == 0)
        return hva;
    return set->unit ? set->unit[i] : hva & ~((base_page_bytes() << set->order[i]) - 1);
}

/** The index of the first page of the set whose number is @p page or more; n if there is none. */
uint64_t page_set_find(const struct page_set *set, uint64_t page);

/** Returns true for touched pages that are no longer resident, in swap or not. */
static inline bool page_is_gone(enum page_state state)
{
    return state == PAGE_GONE || state == PAGE_GONE_TO_SWAP;
}

static inline bool page_is_swapped(enum page_state state)
{
    return state == PAGE_SWAPPED || state == PAGE_GONE_TO_SWAP;
}

static inline bool page_is_missing(enum page_state state)
{
    return state == PAGE_ABSENT || state == PAGE_SWAPPED || page_is_gone(state);
}

/** The pages that a marking covers: all ... */
static inline bool page_any(enum page_state state)
{
    (void)state;
    return true;
}

/** ... or, to begin the next period, touched pages and pages that may have become measurable or
 * absent. */
static inline bool page_needs_rearm(enum page_state state)
{
    return state == PAGE_TOUCHED || state == PAGE_UNMEASURABLE || page_is_gone(state);
}

/** The new state of a page that was in state @p was and is now @p missing: PAGE_ABSENT or
 * PAGE_SWAPPED. */
static inline enum page_state page_lost(enum page_state was, enum page_state missing)
{
    if (was != PAGE_TOUCHED && !page_is_gone(was))
        return missing;
    return missing == PAGE_SWAPPED ? PAGE_GONE_TO_SWAP : PAGE_GONE;
}

/** Records the granularity of the i-th page and the begin of its unit. */
void page_set_note_unit(struct page_set *set, uint64_t i, unsigned order, uint64_t unit_hva);

/** The touched share of the pages that could be measured; 0 if there are none. */
double page_sets_share(const struct page_set *const *sets, size_t n);

/** Counts the states. */
void page_set_tally(const struct page_set *set, struct tally *tally);
