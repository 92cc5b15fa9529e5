// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ksm.h  What KSM has merged. */
#pragma once

#include "guest/ram/target.h"

/** How many pages of this process KSM has merged (Linux 5.19), or of any on an older kernel; 0
 * where it does not tell. */
uint64_t ksm_merged_pages(const struct target *target);
