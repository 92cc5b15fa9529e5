// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/estimate/sketch.h"

#include <math.h>
#include <string.h>

#define GROWTH ((1 + SKETCH_ERROR) / (1 - SKETCH_ERROR))

static size_t bin_of(uint64_t bytes)
{
    if (bytes == 0)
        return 0;

    size_t bin = 1 + (size_t)(log((double)bytes) / log(GROWTH));

    return bin < SKETCH_BINS ? bin : SKETCH_BINS - 1;
}

/* The value has the same relative distance to both ends of the bin. */
static double value_of(size_t bin)
{
    return bin == 0 ? 0 : pow(GROWTH, (double)(bin - 1)) * 2 * GROWTH / (1 + GROWTH);
}

static double share_within(const struct sketch *sketch, double value)
{
    return fmin(fmax(value, (double)sketch->min), (double)sketch->max);
}

void sketch_clear(struct sketch *sketch)
{
    memset(sketch, 0, sizeof(*sketch));
    sketch->min = UINT64_MAX;
}

void sketch_add(struct sketch *sketch, uint64_t bytes, uint64_t weight)
{
    sketch->weight[bin_of(bytes)] += weight;
    sketch->total += weight;
    if (bytes < sketch->min)
        sketch->min = bytes;
    if (bytes > sketch->max)
        sketch->max = bytes;
}

void sketch_merge(struct sketch *into, const struct sketch *from)
{
    for (size_t i = 0; i < SKETCH_BINS; i++)
        into->weight[i] += from->weight[i];
    into->total += from->total;
    if (from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
}

double sketch_quantile(const struct sketch *sketch, double q)
{
    /* q may have a binary rounding error */
    double wanted = q * (double)sketch->total * (1 - 1e-12);
    double seen = 0;

    if (sketch->total == 0)
        return 0;
    if (q >= 1)
        return (double)sketch->max;
    for (size_t i = 0; i < SKETCH_BINS; i++) {
        seen += (double)sketch->weight[i];
        if (sketch->weight[i] > 0 && seen >= wanted)
            return share_within(sketch, value_of(i));
    }
    return (double)sketch->max;
}

size_t sketch_steps(const struct sketch *sketch, struct sketch_step *steps)
{
    double seen = 0;
    size_t n = 0;

    for (size_t i = 0; i < SKETCH_BINS; i++) {
        if (sketch->weight[i] == 0)
            continue;
        seen += (double)sketch->weight[i];
        steps[n++] = (struct sketch_step){
            .value = share_within(sketch, value_of(i)),
            .up_to = seen / (double)sketch->total,
        };
    }
    return n;
}

double sketch_draw(const struct sketch_step *steps, size_t n, double u)
{
    size_t low = 0;
    size_t high = n;

    if (n == 0)
        return 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (steps[middle].up_to < u)
            low = middle + 1;
        else
            high = middle;
    }
    return steps[low < n ? low : n - 1].value;
}
