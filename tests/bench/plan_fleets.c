// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plan_fleets.h"

#include "base/array.h"
#include "base/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static double uniform(uint64_t *state, double low, double high)
{
    return low + (high - low) * ((double)(random_next(state) >> 11) / 9007199254740992.0);
}

static double exponential(uint64_t *state, double mean)
{
    return -mean * log(1 - uniform(state, 0, 1));
}

static float *row(struct generated *generated, size_t guest)
{
    return generated->need + guest * generated->n_minutes;
}

/* --- what guests are made of ------------------------------------------------------------------ */

/* A level of 10 to 30 % of RAM, that wanders by a few percent of itself. */
static void base(float *need, size_t n, double ram, uint64_t *state)
{
    const double level = ram * uniform(state, 0.1, 0.3);
    double wander = 0;

    for (size_t t = 0; t < n; t++) {
        wander = 0.99 * wander + uniform(state, -0.01, 0.01);
        need[t] = (float)(level * (1 + wander));
    }
}

static void burst(float *need, size_t n, size_t from, size_t length, double bytes)
{
    for (size_t t = from; t < n && t < from + length; t++)
        need[t] = fmaxf(need[t], (float)bytes);
}

/* Every three hours or so, to 40 to 90 % of RAM for three minutes or so. */
static void bursts(float *need, size_t n, double ram, uint64_t *state)
{
    for (double t = exponential(state, 180); t < (double)n; t += exponential(state, 180))
        burst(need, n, (size_t)t, 1 + (size_t)exponential(state, 3),
              ram * uniform(state, 0.4, 0.9));
}

/* --- families --------------------------------------------------------------------------------- */

static void independent(float *need, size_t n, size_t judged, double ram, size_t guest,
                        uint64_t *state)
{
    (void)judged, (void)guest;
    base(need, n, ram, state);
    bursts(need, n, ram, state);
}

/* Two of three at the same hour of the night, the others at each full hour. */
static void cron(float *need, size_t n, size_t judged, double ram, size_t guest, uint64_t *state)
{
    const bool nightly = guest % 3 != 0;
    const size_t every = nightly ? DAY_MINUTES : 60;

    (void)judged;
    base(need, n, ram, state);
    for (size_t t = nightly ? 120 : 0; t < n; t += every)
        burst(need, n, t, nightly ? 10 + random_below(state, 10) : 1 + random_below(state, 3),
              ram * uniform(state, 0.6, 0.9));
}

/* Seven of ten are busy by day and on weekdays, the others by night. */
static void day_night(float *need, size_t n, size_t judged, double ram, size_t guest,
                      uint64_t *state)
{
    const double phase = (guest % 10 < 7 ? 14 : 2) + uniform(state, -1.5, 1.5);
    const double height = ram * uniform(state, 0.2, 0.6);

    (void)judged;
    base(need, n, ram, state);
    for (size_t t = 0; t < n; t++) {
        const double hour = (double)(t % DAY_MINUTES) / 60;
        const double wave = (1 + cos((hour - phase) * M_PI / 12)) / 2;
        const bool weekend = t / DAY_MINUTES % 7 >= 5;

        need[t] += (float)(height * wave * wave * (weekend && guest % 10 < 7 ? 0.4 : 1) *
                           uniform(state, 0.9, 1.1));
    }
}

/* As independent, and half of them grow by up to 2 % of what they need a day. */
static void trend(float *need, size_t n, size_t judged, double ram, size_t guest, uint64_t *state)
{
    const double a_day = guest % 2 ? uniform(state, 0, 0.02) : 0;

    independent(need, n, judged, ram, guest, state);
    for (size_t t = 0; t < n; t++)
        need[t] = (float)fmin(need[t] * (1 + a_day * (double)t / DAY_MINUTES), ram);
}

/* As independent; half of them came while it was being planned for, and of all one in three leaves
 * later. */
static void churn(float *need, size_t n, size_t judged, double ram, size_t guest, uint64_t *state)
{
    const size_t planned = n - judged;
    const size_t from = guest % 2 ? random_below(state, planned - 60) : 0;
    const size_t end = random_below(state, 3) == 0 ? planned + random_below(state, judged) : n;

    independent(need, n, judged, ram, guest, state);
    for (size_t t = 0; t < n; t++)
        if (t < from || t >= end)
            need[t] = -1;
}

/* As independent; one needs all it has from the first quarter of the judged time on, as it never
 * did. */
static void explode(float *need, size_t n, size_t judged, double ram, size_t guest, uint64_t *state)
{
    independent(need, n, judged, ram, guest, state);
    if (guest == 7)
        burst(need, n, n - judged + judged / 4, judged, ram);
}

const struct family families[] = {
    {"independent", "bursts at random times", independent},
    {"cron", "bursts at common times", cron},
    {"day-night", "busy by day or by night, less at weekends", day_night},
    {"trend", "independent, half of them grow", trend},
    {"churn", "independent, they come and go", churn},
    {"explode", "independent, one takes all it has later", explode},
};
const size_t n_families = COUNT(families);

struct generated generate(const struct family *family, size_t n_guests, size_t n_minutes,
                          size_t judged, uint64_t seed)
{
    static const double sizes_gib[] = {4, 4, 8, 8, 16};
    struct generated generated = {
        .n_guests = n_guests,
        .n_minutes = n_minutes,
        .ram_bytes = calloc(n_guests, sizeof(double)),
        .need = calloc(n_guests * n_minutes, sizeof(float)),
    };

    if (!generated.ram_bytes || !generated.need) {
        fputs("out of memory\n", stderr);
        exit(2);
    }
    for (size_t g = 0; g < n_guests; g++) {
        uint64_t state = seed * 1000003 + g;

        generated.ram_bytes[g] = GIB * sizes_gib[random_below(&state, 5)];
        family->fill(row(&generated, g), n_minutes, judged, generated.ram_bytes[g], g, &state);
    }
    return generated;
}

void generated_free(struct generated *generated)
{
    free(generated->ram_bytes);
    free(generated->need);
}
