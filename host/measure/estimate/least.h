// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file least.h  The lower bound in bytes: in a touched unit, only one base page is certain to be
 * touched. Pure functions.
 *
 * One observation stands for a whole unit: a huge page, a folio, a hugetlb page. A touched unit has
 * between one and all of its base pages touched. So touched units counted in full bound the bytes
 * touched from above, and touched units counted as one base page each bound them from below. For
 * base pages both are the same.
 */
#pragma once

#include "measure/tally.h"

/** The bound for a census. Touched bytes of unknown stratum (from smaps) are assumed to be in the
 * coarsest pages there are. */
uint64_t least_of_census(const struct tally *tally);

/**
 * The lower 97.5 % bound for a panel.
 * @param measured_bytes  the memory of which the measurable pages are a sample
 */
uint64_t least_of_panel(const struct tally *tally, double measured_bytes);

/** Returns true if any measured unit is larger than a base page. Otherwise the bounds above equal
 * those of the units. */
bool least_differs(const struct tally *tally);
