// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file page_merge.h  Merges the pages of several page sets of one guest in ascending order, so
 * that each page is read once, and neighbouring pages together.
 */
#pragma once

#include "measure/page_set.h"

#define PAGE_MERGE_SETS 8 /* at most */

struct page_merge {
    uint64_t n;
    uint64_t *page; /* page numbers, ascending; a page that is in two sets appears twice */
    struct page_place {
        size_t set; /* the page's set, and ... */
        uint64_t i; /* ... its index in that set */
    } * place;
};

/** 0 or -ENOMEM; free with page_merge_free() in both cases. */
int page_merge_make(struct page_merge *merge, const struct page_set *const *sets, size_t n);
void page_merge_free(struct page_merge *merge);
