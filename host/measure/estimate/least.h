// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file least.h  The lower bound in bytes: of a unit that was touched, one base page is certain.
 * Pure functions.
 *
 * One observation stands for a whole unit: a huge page, a folio, a hugetlb page. That it was
 * touched says that one of its base pages was, or all of them, or any number between. So touched
 * units counted in full bound the bytes touched from above, and touched units counted as one base
 * page each bound them from below. For base pages both are the same.
 */
#pragma once

#include "measure/tally.h"

/** Of a census. Touched bytes whose stratum is not known (of smaps) are taken to be in the coarsest
 * pages there are. */
uint64_t least_of_census(const struct tally *tally);

/**
 * Of a panel, the lower 97.5 % bound.
 * @param measured_bytes  the memory of which what could be measured is a sample
 */
uint64_t least_of_panel(const struct tally *tally, double measured_bytes);

/** Is a unit of it larger than a base page, and any such touched or not known not to be? Else the
 * bounds above are those of the units. */
bool least_differs(const struct tally *tally);
