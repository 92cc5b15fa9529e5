// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sketch.h  The distribution of a number of bytes over time, in little memory. Pure
 * functions.
 *
 * A histogram whose bin widths grow by a constant factor. For any distribution, its quantiles are
 * within SKETCH_ERROR of the exact ones, and merging two sketches adds no error (Masson, Rim, Lee:
 * DDSketch, VLDB 2019). Weights are times: a record that covers ten seconds counts ten times as
 * much as a record that covers one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** The largest relative error of a quantile: half the width of a bin. */
#define SKETCH_ERROR 0.01
/** Enough for 2^63 bytes; bin 0 is for zero bytes. */
#define SKETCH_BINS 2200

struct sketch {
    uint64_t weight[SKETCH_BINS];
    uint64_t total;    /* sum of the weights */
    uint64_t min, max; /* exact */
};

/** A value, and the share of the weight of all values up to it. */
struct sketch_step {
    double value;
    double up_to; /* 0 .. 1 */
};

void sketch_clear(struct sketch *sketch);
void sketch_add(struct sketch *sketch, uint64_t bytes, uint64_t weight);
void sketch_merge(struct sketch *into, const struct sketch *from);

/** The quantile @p q (0 .. 1) by weight, within SKETCH_ERROR and never outside min .. max; q = 1
 * gives max. 0 for an empty sketch. */
double sketch_quantile(const struct sketch *sketch, double q);

/** Writes the distribution as at most SKETCH_BINS steps, ascending; returns their number. */
size_t sketch_steps(const struct sketch *sketch, struct sketch_step *steps);

/** The value at which the cumulative weight reaches the share @p u (0 .. 1); for uniform u this is
 * a random draw. */
double sketch_draw(const struct sketch_step *steps, size_t n, double u);
