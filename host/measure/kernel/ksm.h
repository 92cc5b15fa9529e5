// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ksm.h  Pages that KSM has merged. */
#pragma once

#include "guest/ram/target.h"

/** Number of pages that KSM has merged: of this process (Linux 5.19), or of all processes on an
 * older kernel; 0 if the kernel does not count them. */
uint64_t ksm_merged_pages(const struct target *target);

/** Number of merged pages, of all processes, that were copied since boot because they were written;
 * 0 if the kernel does not count them. Source: mm/memory.c, do_wp_page(). */
uint64_t ksm_copied_pages(const struct target *target);
