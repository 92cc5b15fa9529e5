// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file referenced_count.h  The common part of `referenced` and `cold`: counting by smaps
 * Referenced, and the errors of that count.
 *
 * A fault maps neighbours (first_mapping.h): detected by pagemap, covered by the lower bound, flag
 * first-mapping. Others clear accessed bits, or unmap pages (sentinels.h): detected by kpageflags
 * and pagemap, of huge pages by a count that falls within the window, the upper bound is all
 * resident memory, flag bits-taken. Others read guest RAM
 * through the kernel (sentinels.h): detected by kpageflags, covered by the lower bound, flag
 * read-by-others. A folio is mapped by base pages, and one touch may show as all of it
 * (folio_strata.h): covered by the lower bound.
 */
#pragma once

#include "guest/domain/qemu_io.h"
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
    struct first_mapping *first; /* NULL: no RAM is backed by a file */
    struct sentinels sentinels;
    struct qemu_io io;      /* QEMU's I/O at the marking */
    bool taken;             /* accessed bits were taken since then */
    struct last_count last; /* the last count since then; zeroed: not counted yet */
    uint64_t between_ns;    /* when to count between windows again */
    uint64_t most_bytes;    /* resident before the marking, or since, as far as seen */
    uint64_t shared_bytes;  /* mapped by others then, too: cold cannot mark it */
};

/** smaps and clear_refs exist: CONFIG_PROC_PAGE_MONITOR. */
int referenced_count_host(const struct fsroot *root, struct error *why);

/** Refuses guests whose accesses do not go through the page tables of the QEMU process. */
int referenced_count_probe(const struct target *target, struct error *why);

/** The state of a method: open makes it, close frees it. */
int referenced_count_open(const struct target *target, void **state, struct error *error);
void referenced_count_close(void *state);

/** Call it before any page is marked: a page that is mapped while pages are marked, and its
 * neighbours, may or may not be marked. 0 or a negative errno. */
int referenced_count_begin(struct referenced_count *count, struct error *error);
/** Call it when all pages are marked. */
void referenced_count_marked(struct referenced_count *count);

/** Counts within a window, in which touches add up: a later count that is lower shows that bits
 * were taken, which nothing else shows for huge pages; and memory may come and leave between two
 * readings. */
void referenced_count_between(void *state);

/** Fills a census tally from smaps Referenced; hugetlb pages are unmeasurable. */
int referenced_count_tally(struct referenced_count *count, struct tally *tally,
                           struct error *error);
