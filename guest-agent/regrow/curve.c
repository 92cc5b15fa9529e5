// SPDX-License-Identifier: LGPL-2.1-or-later
#include "regrow/curve.h"

#include "base/array.h"
#include "proc/keyed.h"

#include <math.h>
#include <stdlib.h>

/* A curve that rises less than this share of what came back above the straight line has no knee. */
#define KNEE_HEIGHT 0.1

int regrow_curve_add(struct regrow_curve *curve, const struct regrow_point *point)
{
    return array_put(&curve->point, &curve->n, point, sizeof(*curve->point));
}

void regrow_curve_free(struct regrow_curve *curve)
{
    free(curve->point);
    *curve = (struct regrow_curve){0};
}

/* The increase of a counter; 0 if it decreased (the guest was restored to an earlier state) or is
 * not known.
 */
static uint64_t increase(uint64_t from, uint64_t to)
{
    return from != KEYED_UNKNOWN && to != KEYED_UNKNOWN && to > from ? to - from : 0;
}

static uint64_t cache_at(const struct regrow_curve *curve, size_t i)
{
    return regrow_cache_bytes(&curve->point[i].reading);
}

/* The bytes that were not dropped: those cached right after the drop, minus those read
 * meanwhile. */
static uint64_t kept_bytes(const struct regrow_curve *curve)
{
    return increase(regrow_disk_read_bytes(curve, 0), cache_at(curve, 0));
}

uint64_t regrow_back_bytes(const struct regrow_curve *curve, size_t i)
{
    return increase(kept_bytes(curve), cache_at(curve, i));
}

uint64_t regrow_disk_read_bytes(const struct regrow_curve *curve, size_t i)
{
    return increase(curve->before.disk_read_bytes, curve->point[i].reading.disk_read_bytes);
}

double regrow_io_wait_s(const struct regrow_curve *curve, size_t i)
{
    uint64_t from = curve->before.io_wait_us, to = curve->point[i].reading.io_wait_us;

    if (from == KEYED_UNKNOWN || to == KEYED_UNKNOWN)
        return NAN;
    return (double)increase(from, to) / 1e6;
}

/* KEYED_UNKNOWN if a counter is not known, or decreased. */
static uint64_t counted(uint64_t from, uint64_t to)
{
    return from == KEYED_UNKNOWN || to == KEYED_UNKNOWN || to < from ? KEYED_UNKNOWN : to - from;
}

uint64_t regrow_refault_pages(const struct regrow_curve *curve, size_t i)
{
    return counted(curve->before.refault_pages, curve->point[i].reading.refault_pages);
}

static uint64_t settled_bytes(const struct regrow_curve *curve)
{
    double share = REGROW_SETTLED_SHARE * (double)regrow_back_bytes(curve, curve->n - 1);

    return share > (double)REGROW_SETTLED_BYTES ? (uint64_t)share : REGROW_SETTLED_BYTES;
}

bool regrow_settled(const struct regrow_curve *curve, double settle_s)
{
    size_t last = curve->n - 1, i = last;

    /* counts from the end of the drop, which may have taken long */
    if (curve->n == 0 || curve->point[last].after_s - curve->point[0].after_s < settle_s)
        return false;
    while (i > 0 && curve->point[last].after_s - curve->point[i].after_s < settle_s)
        i--;
    return increase(cache_at(curve, i), cache_at(curve, last)) <= settled_bytes(curve);
}

bool regrow_knee(const struct regrow_curve *curve, size_t *knee)
{
    double best = KNEE_HEIGHT;
    bool found = false;

    if (curve->n == 0)
        return false;

    double back = (double)regrow_back_bytes(curve, curve->n - 1);
    double seconds = curve->point[curve->n - 1].after_s;

    for (size_t i = 0; back > 0 && seconds > 0 && i + 1 < curve->n; i++) {
        double height = (double)regrow_back_bytes(curve, i) / back -
                        curve->point[i].after_s / seconds;

        if (height > best) {
            best = height;
            *knee = i;
            found = true;
        }
    }
    return found;
}

struct regrow_result regrow_result(const struct regrow_curve *curve)
{
    const struct regrow_reading *before = &curve->before;
    const struct regrow_reading *last = &curve->point[curve->n - 1].reading;
    uint64_t kept = kept_bytes(curve);
    uint64_t scanned = counted(before->scanned_pages, last->scanned_pages);
    uint64_t refaults = regrow_refault_pages(curve, curve->n - 1);
    bool reclaim = (scanned != KEYED_UNKNOWN && scanned > 0) ||
                   (refaults != KEYED_UNKNOWN && refaults > 0);
    uint64_t grown = increase(cache_at(curve, 0), cache_at(curve, curve->n - 1));
    /* bytes read while the cache was read count as read after that */
    uint64_t read = increase(curve->point[0].reading.disk_read_before_bytes, last->disk_read_bytes);

    return (struct regrow_result){
        .dropped_bytes = increase(kept, regrow_cache_bytes(before)),
        .kept_bytes = kept,
        .read_in_drop_bytes = regrow_disk_read_bytes(curve, 0),
        .back_bytes = regrow_back_bytes(curve, curve->n - 1),
        .need_low_bytes = grown,
        .need_high_bytes = regrow_cache_bytes(last),
        .disk_read_bytes = regrow_disk_read_bytes(curve, curve->n - 1),
        .swap_in_pages = counted(before->swap_in_pages, last->swap_in_pages),
        .scanned_pages = scanned,
        .refault_pages = refaults,
        .reclaim = reclaim,
        .reclaim_unknown = !reclaim && (scanned == KEYED_UNKNOWN || refaults == KEYED_UNKNOWN),
        .written = grown > read + settled_bytes(curve),
    };
}
