// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/zap_scout.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/compare.h"
#include "measure/kernel/pagemap.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES (64ULL << 20)
#define MOST_BYTES (16ULL << 30)
#define ENOUGH_FAULTS 16
#define WAIT_STEPS 25
#define WAIT_STEP_MS 10

/* The size of a stretch: a huge page, unless huge pages are larger than all of many guests. */
static uint64_t stretch_bytes(void)
{
    return smaller(huge_page_bytes(), FIRST_BYTES);
}

struct scouting {
    const struct zap_scout *scout;
    struct page_set *found; /* pages that faulted, unordered, some of them twice */
    uint64_t room;
};

static void find_page(uint64_t gpa, void *context)
{
    struct scouting *scouting = context;
    uint64_t page = gpa_to_page(scouting->scout->layout, scouting->scout->target->ram, gpa);

    if (page != GPA_NONE && scouting->found->n < scouting->room)
        scouting->found->page[scouting->found->n++] = page;
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    return b == 0 ? a : greatest_common_divisor(b, a % b);
}

/* The k-th of @p n stretches, in an order that visits all of them, and spreads any few of them over
 * all of RAM. */
static uint64_t scattered(uint64_t k, uint64_t n)
{
    uint64_t step = n * 5 / 8 + 1; /* near the golden ratio */

    while (greatest_common_divisor(step, n) != 1)
        step++;
    return (uint64_t)((unsigned __int128)k * step % n);
}

static int drop_stretch(const struct zap_scout *scout, uint64_t stretch)
{
    const struct guest_ram *ram = scout->target->ram;
    uint64_t page = stretch * base_pages(stretch_bytes());
    const struct ram_block *block = guest_ram_block(ram, page);
    uint64_t left = block->bytes - (page - block->first_page) * base_page_bytes();

    return pagemap_invalidate(scout->pagemap_fd, guest_ram_hva(ram, page),
                              smaller(left, stretch_bytes()));
}

/* Drops stretches number [first, end) and waits for faults. */
static int scout_stretches(struct scouting *scouting, uint64_t first, uint64_t end, uint64_t n)
{
    const struct zap_scout *scout = scouting->scout;

    for (uint64_t k = first; k < end; k++) {
        int rc = drop_stretch(scout, scattered(k, n));

        if (rc < 0)
            return rc;
        fault_trace_drain(scout->trace, find_page, scouting);
    }
    for (unsigned i = 0; i < WAIT_STEPS && scouting->found->n < ENOUGH_FAULTS; i++) {
        clock_sleep(WAIT_STEP_MS * 1000000ULL);
        fault_trace_drain(scout->trace, find_page, scouting);
    }
    return 0;
}

static void make_ascending(struct page_set *set)
{
    uint64_t n = 0;

    qsort(set->page, set->n, sizeof(*set->page), compare_u64);
    for (uint64_t i = 0; i < set->n; i++)
        if (n == 0 || set->page[i] != set->page[n - 1])
            set->page[n++] = set->page[i];
    set->n = n;
}

int zap_scout(const struct zap_scout *scout, struct page_set *few, uint64_t *dropped_bytes,
              struct error *why)
{
    struct scouting scouting = {.scout = scout, .found = few, .room = few->n};
    uint64_t stretch_pages = base_pages(stretch_bytes());
    uint64_t n = (scout->target->ram->n_pages + stretch_pages - 1) / stretch_pages;
    uint64_t done = 0;
    int rc = fault_trace_enable(scout->trace, true, why);

    few->n = 0;
    for (uint64_t end = FIRST_BYTES / stretch_bytes(); rc == 0 && done < n && few->n == 0;
         end *= 4) {
        if (end * stretch_bytes() > MOST_BYTES)
            break;
        rc = scout_stretches(&scouting, done, end < n ? end : n, n);
        done = end < n ? end : n;
        if (rc < 0)
            error_set(why, rc, "zap: %s", strerror(-rc));
    }
    *dropped_bytes = smaller(done * stretch_bytes(), scout->target->ram->bytes);
    make_ascending(few);
    return rc;
}
