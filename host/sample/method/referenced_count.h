// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file referenced_count.h  What `referenced` and `cold` share: counting by smaps Referenced. */
#pragma once

#include "sample/method.h"

/** smaps and clear_refs exist: CONFIG_PROC_PAGE_MONITOR. */
int referenced_count_host(const struct fsroot *root, struct error *why);

/** Refuses guests whose accesses do not go through the page tables of the QEMU process. */
int referenced_count_probe(const struct target *target, struct error *why);

/** Fills a census tally from smaps Referenced; hugetlb pages are unmeasurable. */
int referenced_count_tally(const struct target *target, struct tally *tally, struct error *error);
