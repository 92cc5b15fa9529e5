// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sketch.h  The distribution of a number of bytes over time, in little memory. Pure
 * functions.
 *
 * A histogram whose bins grow by a factor: a quantile read from it is within SKETCH_ERROR of the
 * exact one, whatever the distribution, and two sketches are merged without any further error
 * (Masson, Rim, Lee: DDSketch, VLDB 2019). Weights are times: a record that stands for ten seconds
 * counts ten times as much as one that stands for one.
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

/** A value, and the weight of all values up to it. */
struct sketch_step {
    double value;
    double up_to; /* 0 .. 1 */
};

void sketch_clear(struct sketch *sketch);
void sketch_add(struct sketch *sketch, uint64_t bytes, uint64_t weight);
void sketch_merge(struct sketch *into, const struct sketch *from);

/** The smallest value that at least @p q (0 .. 1) of the weight does not exceed, within
 * SKETCH_ERROR and never beyond min or max; q = 1 gives max. 0 for an empty sketch. */
double sketch_quantile(const struct sketch *sketch, double q);

/** Writes the distribution as steps, ascending, at most SKETCH_BINS; returns their number. */
size_t sketch_steps(const struct sketch *sketch, struct sketch_step *steps);

/** The value at which a share @p u (0 .. 1) of the weight is reached: with u uniform, a random
 * draw. */
double sketch_draw(const struct sketch_step *steps, size_t n, double u);
