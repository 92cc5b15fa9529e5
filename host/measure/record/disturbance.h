// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file disturbance.h  Who else on this host changes the bits and mappings that are sampled. */
#pragma once

#include "guest/ram/guest_ram.h"

/** Any kdamond on that is not ours, or a module that uses DAMON by itself
 * (Documentation/admin-guide/mm/damon/usage.rst)? */
bool disturbance_damon(const struct fsroot *root);

/** ksmd running (Documentation/admin-guide/mm/ksm.rst)? */
bool disturbance_ksm(const struct fsroot *root);

/** Are pages of process @p pid merged now, however they came to be (Linux 5.19,
 * proc_pid_ksm_merging_pages)? */
bool disturbance_merged(const struct fsroot *root, pid_t pid);

/** Does ksmd run and may merge pages of this RAM, or has it merged some of the process? It merges
 * private memory only. Merged pages stay so when it stops, and a process may be told to merge by
 * prctl(2) later. */
bool disturbance_merges(const struct fsroot *root, pid_t pid, const struct guest_ram *ram);

/** Does ksmd put the kernel's zero page, which is not resident, in place of pages of zeros, or has
 * it done so (Linux 6.6)? */
bool disturbance_ksm_drops_zeros(const struct fsroot *root);

/** Is there swap? */
bool disturbance_swap(const struct fsroot *root);
