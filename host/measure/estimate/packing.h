// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file packing.h  Computes the memory that all guests of a host need together, and how many more
 * would fit. Pure functions.
 *
 * A draw is one moment: for each guest that existed then, a value is drawn from its distribution in
 * that minute (or hour, if minutes are no longer kept), and the values are added up. All values are
 * from the same minute, so the sum includes correlation between guests. Variation within the
 * minute, and measurement errors, count as independent.
 *
 * New guests are assumed to be like the existing ones: for each new guest an existing one is drawn,
 * and the share of RAM that the existing guest used at that moment is scaled to the new guest's
 * size.
 */
#pragma once

#include "measure/estimate/sketch.h"

/** The result if no draw finds room for another guest. */
#define PACKING_MAX_GUESTS 10000

/** A guest at one moment. */
struct packing_guest {
    const struct sketch_step *steps;
    size_t n_steps; /* above 0 */
    double ram_bytes;
};

/** One draw of the sum, in bytes. @p state: the state of the random generator (base/random.h). */
double packing_total(const struct packing_guest *guests, size_t n, uint64_t *state);

/** One draw of the number of guests of @p guest_bytes that fit into @p free_bytes. 0 if there are
 * no existing guests. */
unsigned packing_fit(const struct packing_guest *guests, size_t n, double free_bytes,
                     double guest_bytes, uint64_t *state);

/** Sorts the draws; returns their quantile @p q (0 .. 1): the smallest draw that is at least as
 * large as a share @p q of them. @p n above 0. */
double packing_quantile(double *draws, size_t n, double q);

/** Sorts the draws; returns the largest number that a share of at least 1 - @p risk of the draws
 * reaches. @p n above 0. */
double packing_reached(double *draws, size_t n, double risk);
