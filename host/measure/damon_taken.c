// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/damon_taken.h"

#include "base/bytes.h"

#include <errno.h>

/* --- pages of a set --------------------------------------------------------------------------- */

struct pages {
    struct page_set *set;
    const struct ram_block *block;
    int64_t lost;
};

static void lose_pages(uint64_t hva, uint64_t bytes, void *context)
{
    struct pages *pages = context;
    const struct ram_block *block = pages->block;
    uint64_t from = larger(hva, block->hva) - block->hva;
    uint64_t to = smaller(hva + bytes, block->hva + block->bytes) - block->hva;
    uint64_t end = block->first_page + base_pages(to);

    for (uint64_t i = page_set_find(pages->set, block->first_page + from / base_page_bytes());
         i < pages->set->n && page_set_page(pages->set, i) < end; i++)
        if (pages->set->state[i] == PAGE_IDLE) {
            pages->set->state[i] = PAGE_UNMEASURABLE;
            pages->lost++;
        }
}

/* --- all of guest RAM ------------------------------------------------------------------------- */

static void add_bytes(uint64_t hva, uint64_t bytes, void *context)
{
    (void)hva;
    *(uint64_t *)context += bytes;
}

/* Returns true if each page of this guest whose bits are taken has an event. */
static bool is_told(const struct target *target, const struct damon_mark *mark)
{
    return target->process->accel == ACCEL_KVM || !mark->active;
}

static int visit_block(const struct target *target, const struct damon_mark *mark, size_t b,
                       void (*visit)(uint64_t hva, uint64_t bytes, void *context), void *context)
{
    const struct ram_block *block = &target->ram->blocks[b];

    return is_told(target, mark) ? damon_hits_since(target->root, mark, block->hva,
                                                    block->hva + block->bytes, visit, context)
                                 : -ENODATA;
}

int64_t damon_taken_of_set(const struct target *target, const struct damon_mark *mark,
                           struct page_set *set)
{
    struct pages pages = {.set = set};
    int rc = 0;

    for (size_t b = 0; rc == 0 && b < target->ram->n_blocks; b++) {
        pages.block = &target->ram->blocks[b];
        rc = visit_block(target, mark, b, lose_pages, &pages);
    }
    return rc < 0 ? rc : pages.lost;
}

static void note_any(uint64_t hva, uint64_t bytes, void *context)
{
    (void)hva;
    (void)bytes;
    *(bool *)context = true;
}

bool damon_has_sampled(const struct target *target, const struct damon_mark *mark, uint64_t hva,
                       uint64_t bytes)
{
    bool any = false;

    return is_told(target, mark) &&
           damon_hits_since(target->root, mark, hva, hva + bytes, note_any, &any) == 0 && any;
}

void damon_taken_of_census(const struct target *target, const struct damon_mark *mark,
                           struct tally *tally)
{
    int rc = 0;

    for (size_t b = 0; rc == 0 && b < target->ram->n_blocks; b++)
        rc = visit_block(target, mark, b, add_bytes, &tally->missed_bytes);
    if (rc < 0)
        damon_doubt(tally);
}

void damon_doubt(struct tally *tally)
{
    tally_doubt(tally, DOUBT_DAMON, 0);
}
