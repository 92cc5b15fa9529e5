// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/estimate/packing.h"

#include "base/compare.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>

/* 0 < u <= 1 */
static double uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 1) / 9007199254740992.0;
}

double packing_total(const struct packing_guest *guests, size_t n, uint64_t *state)
{
    double total = 0;

    for (size_t g = 0; g < n; g++)
        total += sketch_draw(guests[g].steps, guests[g].n_steps, uniform(state));
    return total;
}

/* Never above 1, although the draw may exceed the guest's RAM. */
static double used_share(const struct packing_guest *guest, uint64_t *state)
{
    double used = sketch_draw(guest->steps, guest->n_steps, uniform(state));

    return guest->ram_bytes > 0 ? fmin(used / guest->ram_bytes, 1) : 1;
}

unsigned packing_fit(const struct packing_guest *guests, size_t n, double free_bytes,
                     double guest_bytes, uint64_t *state)
{
    unsigned fit = 0;

    if (n == 0)
        return 0;
    for (; fit < PACKING_MAX_GUESTS; fit++) {
        const struct packing_guest *like = &guests[random_below(state, n)];

        free_bytes -= guest_bytes * used_share(like, state);
        if (free_bytes < 0)
            break;
    }
    return fit;
}

double packing_quantile(double *draws, size_t n, double q)
{
    double rank = ceil(q * (double)n * (1 - 1e-12));

    qsort(draws, n, sizeof(draws[0]), compare_doubles);
    return draws[rank < 1 ? 0 : (size_t)fmin(rank, (double)n) - 1];
}

double packing_reached(double *draws, size_t n, double risk)
{
    double below = floor(risk * (double)n * (1 + 1e-12));

    qsort(draws, n, sizeof(draws[0]), compare_doubles);
    return draws[(size_t)fmin(below, (double)(n - 1))];
}
