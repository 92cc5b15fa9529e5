// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trial.h  Finds out whether a method that follows pages sees this guest, by measuring a few
 * of its pages. */
#pragma once

#include "measure/method.h"

struct trial {
    uint64_t n;                  /* number of pages to try; the panel may have fewer */
    uint64_t pages[PAGE_STATES]; /* number of pages in each state */
    uint64_t vcpu_ns;            /* vCPU time during the trial */
    /* The unmeasurable pages on huge pages: their number, and the last of them. */
    uint64_t huge_unmeasurable, huge_page;
    unsigned huge_order;
};

/** Counts the pages of @p set by their states, from nothing. */
void trial_count(struct trial *trial, const struct page_set *set);

/** The number of pages that were tried, in any state. */
uint64_t trial_pages(const struct trial *trial);

/** Marks @p n random pages and counts their states. 0, or the method's error. */
int trial_mark(const struct method *method, const struct target *target, uint64_t n,
               struct trial *trial, struct error *why);

/** Follows @p n random pages until the guest touches one, for a tenth of a second at most. 0, or
 * the method's error. */
int trial_run(const struct method *method, const struct target *target, uint64_t n,
              struct trial *trial, struct error *why);

/**
 * @return 0: it saw a touch, or the guest did not run, so that nothing can be proven; -ENODATA no
 *         page was resident; -ENOTSUP no page was measurable, or no touch was seen although the
 *         vCPUs ran.
 */
int trial_judge(const struct trial *trial, struct error *why);
