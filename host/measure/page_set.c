// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/page_set.h"

#include "base/bytes.h"
#include "base/compare.h"
#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits the draws: an absent page costs a few bytes and one pagemap read, but 64 GiB of absent
 * pages must not cost millions of draws. */
#define MAX_OVERDRAW 256

static int allocate(struct page_set *set, const struct guest_ram *ram, uint64_t n, bool panel)
{
    *set = (struct page_set){.ram = ram, .n = n};
    n = n ? n : 1; /* calloc(0) may be NULL */
    set->state = calloc(n, 1);
    set->order = calloc(n, 1);
    if (panel) {
        set->page = calloc(n, sizeof(*set->page));
        set->unit = calloc(n, sizeof(*set->unit));
    }
    if (set->state && set->order && (!panel || (set->page && set->unit)))
        return 0;
    page_set_free(set);
    return -ENOMEM;
}

int page_set_census(struct page_set *set, const struct guest_ram *ram)
{
    return allocate(set, ram, ram->n_pages, false);
}

int page_set_blank(struct page_set *set, const struct guest_ram *ram, uint64_t n)
{
    return allocate(set, ram, n, true);
}

static uint64_t sort_unique(uint64_t *values, uint64_t n)
{
    uint64_t kept = 0;

    qsort(values, n, sizeof(*values), compare_u64);
    for (uint64_t i = 0; i < n; i++)
        if (kept == 0 || values[i] != values[kept - 1])
            values[kept++] = values[i];
    return kept;
}

/* Draws until it has @p n distinct numbers below @p bound. Replacing the duplicates by fresh draws
 * leaves every n-subset equally likely. */
static void draw_distinct(uint64_t *values, uint64_t n, uint64_t bound, uint64_t *state)
{
    for (uint64_t have = 0; have < n; have = sort_unique(values, n))
        for (uint64_t i = have; i < n; i++)
            values[i] = random_below(state, bound);
}

/* As draw_distinct(), in one pass over all numbers, without sorting, for a large @p n: selection
 * sampling (Knuth, The Art of Computer Programming 3.4.2, algorithm S). */
static void select_in_order(uint64_t *values, uint64_t n, uint64_t bound, uint64_t *state)
{
    for (uint64_t i = 0, have = 0; have < n; i++)
        if (random_below(state, bound - i) < n - have)
            values[have++] = i;
}

uint64_t page_set_draws(uint64_t samples, double presence)
{
    return (uint64_t)ceil((double)samples / fmin(1, fmax(presence, 1.0 / MAX_OVERDRAW)));
}

static uint64_t draws_beside(const struct taken *taken, const struct guest_ram *ram, uint64_t n)
{
    double left = taken ? 1 - taken_share(taken, ram) : 1;

    return left > 0 ? (uint64_t)ceil((double)n / left) : n;
}

/* Shrinks an array; if that fails, it stays as it is. */
static void *shrink(void *array, size_t bytes)
{
    void *smaller = realloc(array, bytes);

    if (!smaller)
        return array;
    return smaller;
}

void page_set_keep(struct page_set *set, uint64_t n)
{
    const size_t room = n ? n : 1; /* realloc(0) may free */

    set->n = n;
    set->page = shrink(set->page, room * sizeof(*set->page));
    set->unit = shrink(set->unit, room * sizeof(*set->unit));
    set->state = shrink(set->state, room);
    set->order = shrink(set->order, room);
}

uint64_t page_set_find(const struct page_set *set, uint64_t page)
{
    uint64_t low = 0;
    uint64_t high = set->n;

    if (page_set_is_census(set))
        return smaller(page, set->n);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (set->page[middle] < page)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void drop_taken(struct page_set *set, const struct taken *taken)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < set->n; i++)
        if (!taken_has(taken, page_set_hva(set, i)))
            set->page[kept++] = set->page[i];
    page_set_keep(set, kept);
}

int page_set_panel(struct page_set *set, const struct guest_ram *ram, uint64_t n, uint64_t seed)
{
    n = draws_beside(ram->taken, ram, n);
    if (n > ram->n_pages)
        n = ram->n_pages;

    int rc = allocate(set, ram, n, true);

    if (rc < 0)
        return rc;
    if (n < ram->n_pages / 16)
        draw_distinct(set->page, n, ram->n_pages, &seed);
    else
        select_in_order(set->page, n, ram->n_pages, &seed);
    if (ram->taken)
        drop_taken(set, ram->taken);
    return 0;
}

void page_set_free(struct page_set *set)
{
    free(set->page);
    free(set->unit);
    free(set->state);
    free(set->order);
    *set = (struct page_set){0};
}

void page_set_note_unit(struct page_set *set, uint64_t i, unsigned order, uint64_t unit_hva)
{
    set->order[i] = (uint8_t)order;
    if (set->unit)
        set->unit[i] = unit_hva;
}

/* Tallies pages of one state and one order. */
static void tally_pages(struct tally *tally, enum page_state state, unsigned order, uint64_t pages)
{
    if (page_is_swapped(state))
        tally->swapped_pages += pages;
    if (page_is_gone(state))
        tally->gone_bytes += pages * base_page_bytes();
    if (page_is_missing(state))
        return;
    tally->resident_bytes += pages * base_page_bytes();
    if (state == PAGE_UNMEASURABLE) {
        tally->unmeasurable_bytes += pages * base_page_bytes();
        return;
    }
    if (state == PAGE_TOUCHED)
        tally->touched_bytes += pages * base_page_bytes();

    struct stratum *stratum = tally_stratum(tally, base_page_bytes() << order);

    if (stratum) {
        stratum->draws += pages;
        stratum->touched_units += state == PAGE_TOUCHED ? pages : 0;
    }
}

/* Larger than any folio; order[] never has this value. */
#define ORDERS 64

static bool is_filled(enum page_state state)
{
    return state != PAGE_ABSENT && state != PAGE_GONE;
}

/* Firmware leaves its tables at the end. In shared memory a page that is not mapped may be a page
 * of the file. */
static uint64_t sparse_end_bytes(const struct page_set *set)
{
    uint64_t filled = 0, sparse = 0;

    if (set->ram->n_blocks != 1 || set->ram->blocks[0].shared)
        return 0;
    for (uint64_t n = 1; n <= set->n; n++) {
        filled += is_filled((enum page_state)set->state[set->n - n]);
        if (filled * SPARSE_PART <= n)
            sparse = n;
    }
    return sparse * base_page_bytes();
}

/* Counts by kind first: a census may have millions of pages, but only a few kinds. */
static void tally_census(const struct page_set *set, struct tally *tally)
{
    uint64_t count[ORDERS][PAGE_STATES] = {0};

    for (uint64_t i = 0; i < set->n; i++)
        count[set->order[i] % ORDERS][set->state[i]]++;
    for (unsigned order = 0; order < ORDERS; order++)
        for (enum page_state state = 0; state < PAGE_STATES; state++)
            if (count[order][state] > 0)
                tally_pages(tally, state, order, count[order][state]);
    tally->sparse_end_bytes = sparse_end_bytes(set);
}

struct unit {
    uint64_t hva;
    unsigned order;
    bool touched;
};

/* Tallies one draw of a panel. Draws in one huge page are adjacent, because the page numbers
 * ascend, except for draws in between that were noted while it consisted of small pages. The huge
 * page counts once, and as touched if any of its draws is touched. @p last is the last larger
 * unit. */
static void tally_draw(const struct page_set *set, uint64_t i, struct tally *tally,
                       struct unit *last)
{
    struct stratum *stratum = tally_stratum(tally, base_page_bytes() << set->order[i]);

    if (!stratum)
        return;
    stratum->draws++;

    bool touched = set->state[i] == PAGE_TOUCHED;

    if (set->order[i] > 0 && set->order[i] == last->order && set->unit[i] == last->hva) {
        stratum->touched_units += touched && !last->touched;
        last->touched |= touched;
        return;
    }
    stratum->units++;
    stratum->touched_units += touched;
    if (set->order[i] > 0)
        *last = (struct unit){.hva = set->unit[i], .order = set->order[i], .touched = touched};
}

static void tally_panel(const struct page_set *set, struct tally *tally)
{
    struct unit last = {.hva = UINT64_MAX};

    for (uint64_t i = 0; i < set->n; i++) {
        switch ((enum page_state)set->state[i]) {
        case PAGE_SWAPPED:
            tally->swapped_pages++;
            tally->drawn_absent++;
            break;
        case PAGE_ABSENT:
            tally->drawn_absent++;
            break;
        case PAGE_GONE_TO_SWAP:
            tally->swapped_pages++;
            tally->drawn_gone++;
            tally->drawn_absent++;
            break;
        case PAGE_GONE:
            tally->drawn_gone++;
            tally->drawn_absent++;
            break;
        case PAGE_UNMEASURABLE:
            tally->drawn_unmeasurable++;
            break;
        case PAGE_IDLE:
        case PAGE_TOUCHED:
            tally_draw(set, i, tally, &last);
            break;
        }
    }
}

double page_sets_share(const struct page_set *const *sets, size_t n)
{
    uint64_t count[PAGE_STATES] = {0};

    for (size_t s = 0; s < n; s++)
        for (uint64_t i = 0; i < sets[s]->n; i++)
            count[sets[s]->state[i]]++;

    const uint64_t measured = count[PAGE_TOUCHED] + count[PAGE_IDLE];

    return measured > 0 ? (double)count[PAGE_TOUCHED] / (double)measured : 0;
}

void page_set_tally(const struct page_set *set, struct tally *tally)
{
    memset(tally, 0, sizeof(*tally));
    tally->census = page_set_is_census(set);
    if (tally->census)
        tally_census(set, tally);
    else
        tally_panel(set, tally);
}
