// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file packing.h  How much memory all guests of a host need together, and how many more would fit.
 * Pure functions.
 *
 * A draw is one moment: each guest that was there has a value drawn from its distribution around
 * that moment (a minute, or where minutes are not kept any more an hour), and the values are added
 * up. So what guests have in common is in the sum, for all are drawn from the same minute; what
 * they do within it, and the error of each measurement, counts as independent.
 *
 * New guests are like those that are there: for each one of them is drawn, and how much of its RAM
 * it used then, at that very moment of the host, is scaled to the size of the new guest.
 */
#pragma once

#include "measure/estimate/sketch.h"

/** No draw finds room for more. */
#define PACKING_MAX_GUESTS 10000

/** A guest around one moment. */
struct packing_guest {
    const struct sketch_step *steps;
    size_t n_steps; /* above 0 */
    double ram_bytes;
};

/** One draw of the sum, in bytes. @p state: of the random numbers (base/random.h). */
double packing_total(const struct packing_guest *guests, size_t n, uint64_t *state);

/** One draw of how many guests of @p guest_bytes fit into @p free_bytes. 0 when there are no guests
 * to be like. */
unsigned packing_fit(const struct packing_guest *guests, size_t n, double free_bytes,
                     double guest_bytes, uint64_t *state);

/** Sorts the draws; the smallest that at least a share @p q (0 .. 1) of them does not exceed. @p n
 * above 0. */
double packing_quantile(double *draws, size_t n, double q);

/** Sorts the draws; the largest number that at least a share 1 - @p risk of them reaches. @p n
 * above 0. */
double packing_reached(double *draws, size_t n, double risk);
