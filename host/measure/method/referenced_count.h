// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file referenced_count.h  What `referenced` and `cold` share: counting by smaps Referenced, and
 * what makes that count wrong.
 *
 * A fault maps neighbours (first_mapping.h): known from pagemap, in the lower bound, flag
 * first-mapping. Others clear accessed bits, or unmap pages (sentinels.h): known from kpageflags
 * and pagemap, the upper bound is all that is resident, flag bits-taken. Others read guest RAM
 * through the kernel (sentinels.h): known from kpageflags, in the lower bound, flag read-by-others.
 * A folio is mapped by base pages, and one touch may show as all of it (folio_strata.h): in the
 * lower bound.
 */
#pragma once

#include "guest/domain/qemu_vcpus.h"
#include "measure/method.h"
#include "measure/method/first_mapping.h"
#include "measure/method/sentinels.h"

struct last_count {
    uint64_t touched_bytes, surplus_bytes; /* as in the tally */
    uint64_t least_bytes;                  /* touched, without the sentinels */
    uint64_t resident_bytes;
};

struct referenced_count {
    const struct target *target;
    struct first_mapping *first; /* NULL: no RAM is a file's */
    struct sentinels sentinels;
    struct qemu_io io;      /* when marked */
    bool taken;             /* bits, since then */
    struct last_count last; /* since then; zeroed: nothing was counted */
};

/** smaps and clear_refs exist: CONFIG_PROC_PAGE_MONITOR. */
int referenced_count_host(const struct fsroot *root, struct error *why);

/** Refuses guests whose accesses do not go through the page tables of the QEMU process. */
int referenced_count_probe(const struct target *target, struct error *why);

/** The state of a method: open makes it, close frees it. */
int referenced_count_open(const struct target *target, void **state, struct error *error);
void referenced_count_close(void *state);

/** To be called before anything is marked: a page that is mapped meanwhile, and its neighbours, are
 * marked or not. 0 or a negative errno. */
int referenced_count_begin(struct referenced_count *count, struct error *error);
/** To be called when all is marked. */
void referenced_count_marked(struct referenced_count *count);

/** Fills a census tally from smaps Referenced; hugetlb pages are unmeasurable. */
int referenced_count_tally(struct referenced_count *count, struct tally *tally,
                           struct error *error);
