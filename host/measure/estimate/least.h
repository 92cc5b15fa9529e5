// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file least.h  The lower bound in bytes: in a touched unit, only one base page is certain to be
 * touched. Pure functions.
 *
 * One observation stands for a whole unit: a huge page, a folio, a hugetlb page. In a touched unit
 * at least one base page is touched, and at most all. So counting touched units in full gives an
 * upper bound of the touched bytes, and counting one base page for each gives a lower bound. For
 * base pages both are the same.
 */
#pragma once

#include "measure/tally.h"

/** The lower bound for a census. Touched bytes of unknown stratum (from smaps) are assumed to be in
 * the coarsest pages present. */
uint64_t least_of_census(const struct tally *tally);

/**
 * The lower 97.5 % bound for a panel.
 * @param measured_bytes  the memory from which the measurable pages were drawn
 */
uint64_t least_of_panel(const struct tally *tally, double measured_bytes);

/** Returns true if any measured unit is larger than a base page. If none is, the bounds above equal
 * those of whole units. */
bool least_differs(const struct tally *tally);
