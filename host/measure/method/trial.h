// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trial.h  Does a method that follows pages see this guest? Found out by measuring a few of
 * its pages. */
#pragma once

#include "measure/method.h"

struct trial {
    uint64_t pages[PAGE_STATES]; /* how many of each state */
    uint64_t vcpu_ns;            /* how long the vCPUs ran meanwhile */
    /* Of those that are unmeasurable, the ones on huge pages: how many, and the last of them. */
    uint64_t huge_unmeasurable, huge_page;
    unsigned huge_order;
};

/** Counts the pages of @p set by their states, from nothing. */
void trial_count(struct trial *trial, const struct page_set *set);

/** How many pages were looked at, whatever became of them. */
uint64_t trial_pages(const struct trial *trial);

/** Follows @p n random pages until the guest touches one, for a tenth of a second at most. 0, or
 * what the method says. */
int trial_run(const struct method *method, const struct target *target, uint64_t n,
              struct trial *trial, struct error *why);

/**
 * @return 0: it saw a touch, or the guest did not run, so that there is nothing to prove it with;
 *         -ENODATA no page was resident; -ENOTSUP none was measurable, or none seen touched
 *         although the vCPUs ran.
 */
int trial_judge(const struct trial *trial, struct error *why);
