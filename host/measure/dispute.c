// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/dispute.h"

#include "base/bytes.h"
#include "base/wilson.h"

#include <math.h>

/* In any guest, some hundred pages (device rings, leftovers of firmware) are touched only by
 * QEMU. */
#define NOISE_SHARE 0.005

/* There are two tests per period: at most one false alarm in 2,500 periods, for shares up to one in
 * 1,000. */
#define ALPHA 0.0002

/* One false alarm in 4,000 periods. */
#define Z_SHARES 3.5

double binomial_tail(double n, double p, double k)
{
    double below = 0;

    if (k <= 0 || p >= 1)
        return 1;
    if (p <= 0)
        return 0;
    for (unsigned count = 0; count < k && count <= n; count++) {
        const double i = count;

        below += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(p) +
                     (n - i) * log1p(-p));
    }
    return fmax(0, 1 - below);
}

static bool is_beyond_chance(const struct witness_count *count, double differ, double noise)
{
    return binomial_tail(round((double)count->n), fmin(1, NOISE_SHARE + noise), floor(differ)) <
           ALPHA;
}

bool witness_disputes(const struct witness_count *count)
{
    return count->n > 0 && (is_beyond_chance(count, count->others, count->noise) ||
                            is_beyond_chance(count, count->missed, 0));
}

bool witness_misses_share(struct witness_count *count, double share)
{
    const float faulted = count->both + count->missed;
    const float seen = (float)(share * (double)count->n);

    if (count->n <= 0 || share >= wilson_interval(faulted, count->n, Z_SHARES).low)
        return false;
    count->both = seen;
    count->missed = faulted - seen;
    return true;
}

void dispute_add(struct dispute *dispute, const struct witness_count *count, bool disputed)
{
    const float others = count->others + (disputed ? count->early : 0);

    if (count->n <= 0)
        return;
    dispute->periods++;
    dispute->n += count->n;
    dispute->others += others;
    dispute->missed += count->missed;
    dispute->unseen += count->unseen;
    dispute->least = fmax(dispute->least,
                          wilson_interval(count->both + count->missed, count->n, Z_95).low);
    if (count->watched_bytes > 0)
        dispute->of_bytes = dispute->of_bytes > 0 ? smaller(dispute->of_bytes, count->watched_bytes)
                                                  : count->watched_bytes;
    if (others > 0)
        dispute->others_high += wilson_interval(others, count->n, Z_95).high;
    dispute->disputed |= disputed;
}

uint64_t dispute_unwatched_bytes(const struct dispute *dispute, uint64_t all_bytes)
{
    return dispute->of_bytes > 0 ? less(all_bytes, dispute->of_bytes) : 0;
}

uint64_t dispute_least_bytes(const struct dispute *dispute, uint64_t all_bytes)
{
    return (uint64_t)(dispute->least *
                      (double)(all_bytes - dispute_unwatched_bytes(dispute, all_bytes)));
}

/* Upper bound over the periods, because others may touch other pages in each. */
static double any_high(const struct dispute *dispute, double differ)
{
    return fmin(1, dispute->periods * wilson_interval(differ, dispute->n, Z_95).high);
}

double dispute_others_high(const struct dispute *dispute)
{
    return fmin(1, fmax(dispute->others_high, any_high(dispute, dispute->others)));
}

double dispute_missed_high(const struct dispute *dispute)
{
    return any_high(dispute, dispute->missed + dispute->unseen);
}

static double widen_by(const struct dispute *dispute, double differ, double high)
{
    if (differ <= 0)
        return 0;
    return dispute->disputed ? high : wilson_interval(differ, dispute->n, Z_95).high;
}

double dispute_surplus(const struct dispute *dispute)
{
    return widen_by(dispute, dispute->others, dispute_others_high(dispute));
}

double dispute_missing(const struct dispute *dispute)
{
    return widen_by(dispute, dispute->missed, dispute_missed_high(dispute));
}
