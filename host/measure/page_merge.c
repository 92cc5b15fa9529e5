// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/page_merge.h"

#include <errno.h>
#include <stdlib.h>

void page_merge_free(struct page_merge *merge)
{
    free(merge->page);
    free(merge->place);
    *merge = (struct page_merge){0};
}

/* Finds the lowest among the next pages of all sets; sets are few. */
static struct page_place next_place(const struct page_set *const *sets, size_t n,
                                    const uint64_t *at)
{
    struct page_place next = {0};
    uint64_t first = UINT64_MAX;

    for (size_t s = 0; s < n; s++) {
        if (at[s] == sets[s]->n || page_set_page(sets[s], at[s]) >= first)
            continue;
        first = page_set_page(sets[s], at[s]);
        next = (struct page_place){s, at[s]};
    }
    return next;
}

int page_merge_make(struct page_merge *merge, const struct page_set *const *sets, size_t n)
{
    uint64_t at[PAGE_MERGE_SETS] = {0};

    *merge = (struct page_merge){0};
    for (size_t s = 0; s < n; s++)
        merge->n += sets[s]->n;
    merge->page = calloc(merge->n + 1, sizeof(*merge->page));
    merge->place = calloc(merge->n + 1, sizeof(*merge->place));
    if (!merge->page || !merge->place)
        return -ENOMEM;
    for (uint64_t k = 0; k < merge->n; k++) {
        merge->place[k] = next_place(sets, n, at);
        at[merge->place[k].set]++;
        merge->page[k] = page_set_page(sets[merge->place[k].set], merge->place[k].i);
    }
    return 0;
}
