// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/estimate/group_usage.h"

#include "base/bytes.h"
#include "base/wilson.h"
#include "guest/ram/guest_ram.h"

#include <math.h>

/* The interval of the share that @p n of the drawn frames represent. */
static struct interval share_of(const struct frames_seen *seen, uint64_t n)
{
    double drawn = (double)seen->drawn;
    double units = (double)seen->units;
    double all_units = (double)seen->frames * units / drawn;
    double effective = finite_population_n(units, all_units);
    double share = (double)n / drawn;

    if (isinf(effective)) /* every frame was drawn */
        return (struct interval){share, share};
    return wilson_interval(share * effective, effective, Z_95);
}

static uint64_t part(uint64_t bytes, double share)
{
    return (uint64_t)llround((double)bytes * share);
}

struct group_usage group_usage_of(const struct frames_seen *seen, bool doubt)
{
    struct group_usage out = {.bytes = seen->frames * base_page_bytes(), .high = 0};
    double drawn = (double)seen->drawn;

    if (seen->frames == 0)
        return out;
    out.high = out.bytes;
    if (seen->drawn == 0) {
        out.unmeasurable = out.bytes;
        return out;
    }
    out.touched = part(out.bytes, (double)seen->touched / drawn);
    out.unmeasurable = part(out.bytes, (double)seen->unmeasurable / drawn);
    out.gone = part(out.bytes, (double)seen->gone / drawn);
    out.low = part(out.bytes, share_of(seen, seen->touched).low);
    if (!doubt)
        out.high = part(out.bytes,
                        share_of(seen, seen->touched + seen->unmeasurable + seen->gone).high);
    out.low = smaller(out.low, out.touched);
    out.high = larger(out.high, out.touched);
    return out;
}

void group_usage_add(struct group_usage *sum, const struct group_usage *more)
{
    sum->bytes += more->bytes;
    sum->touched += more->touched;
    sum->low += more->low;
    sum->high += more->high;
    sum->unmeasurable += more->unmeasurable;
    sum->gone += more->gone;
}
