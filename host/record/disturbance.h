// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file disturbance.h  Who else on this host changes the bits and mappings that are sampled. */
#pragma once

#include "base/fsroot.h"

/** Any kdamond on that is not ours, or a module that uses DAMON by itself
 * (Documentation/admin-guide/mm/damon/usage.rst)? */
bool disturbance_damon(const struct fsroot *root);

/** ksmd running (Documentation/admin-guide/mm/ksm.rst)? */
bool disturbance_ksm(const struct fsroot *root);

/** Are pages of process @p pid merged now, however they came to be (Linux 5.19,
 * proc_pid_ksm_merging_pages)? */
bool disturbance_merged(const struct fsroot *root, pid_t pid);

/** Is there swap? */
bool disturbance_swap(const struct fsroot *root);
