// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_fleets.h  Generated guests for tests/bench/plan: what each needs, minute by minute.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GIB (1024.0 * 1024 * 1024)
#define DAY_MINUTES 1440

struct generated {
    size_t n_guests, n_minutes; /* the first minute is midnight of a Monday */
    double *ram_bytes;
    float *need; /* bytes; negative: the guest is not there */
};

struct family {
    const char *name, *what;
    /* Fills in one guest's row of @p n minutes, of which the last @p judged are judged. */
    void (*fill)(float *need, size_t n, size_t judged, double ram, size_t guest, uint64_t *state);
};

extern const struct family families[];
extern const size_t n_families;

/** Exits when out of memory. */
struct generated generate(const struct family *family, size_t n_guests, size_t n_minutes,
                          size_t judged, uint64_t seed);
void generated_free(struct generated *generated);
