// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file disturbance.h  Other programs on this host that change the sampled bits and mappings. */
#pragma once

#include "guest/ram/guest_ram.h"

/** Returns true if another user's kdamond is on, or a kernel module that runs DAMON by itself
 * (Documentation/admin-guide/mm/damon/usage.rst). */
bool disturbance_damon(const struct fsroot *root);

/** Returns true if ksmd is running (Documentation/admin-guide/mm/ksm.rst). */
bool disturbance_ksm(const struct fsroot *root);

/** Returns true if pages of process @p pid are merged now, whatever merged them (Linux 5.19,
 * proc_pid_ksm_merging_pages). */
bool disturbance_merged(const struct fsroot *root, pid_t pid);

/** Returns true if ksmd runs and may merge pages of this RAM, or has merged pages of the process.
 * KSM merges private memory only. Merged pages stay merged when ksmd stops, and a process may
 * enable merging by prctl(2) later. */
bool disturbance_merges(const struct fsroot *root, pid_t pid, const struct guest_ram *ram);

/** Returns true if ksmd replaces, or has replaced, pages of zeros by the kernel's zero page, which
 * is not resident (Linux 6.6). */
bool disturbance_ksm_drops_zeros(const struct fsroot *root);

/** Returns true if there is swap. */
bool disturbance_swap(const struct fsroot *root);
