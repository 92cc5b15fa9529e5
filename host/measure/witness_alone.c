// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/witness_alone.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/page_sizes.h"
#include "base/wilson.h"
#include "measure/kernel/pagemap.h"
#include "measure/page_probe.h"

/* One false alarm in 2,000 periods, as in the test by pairs: dispute.c. */
#define Z_DISPUTE 3.5

static void note_page(void *context, uint64_t i, const struct page_probe *probe)
{
    struct page_set *set = context;

    set->state[i] = (uint8_t)probe->state;
    page_set_note_unit(set, i, probe->order, probe->unit_hva);
}

int witness_alone_draw(const struct target *target, uint64_t draws, uint64_t seed,
                       struct page_set *set)
{
    cleanup_close int fd = pagemap_open(target, NULL);
    int rc = fd < 0 ? fd : page_set_panel(set, target->ram, draws, seed);

    if (rc == 0)
        rc = page_probe_each(fd, set, page_any, true, note_page, set);
    if (rc < 0 && fd >= 0)
        page_set_free(set);
    return rc;
}

static bool counts_folios(const struct tally *tally)
{
    for (size_t i = 0; i < tally->n_strata; i++)
        if (tally->strata[i].draws > 0 && tally->strata[i].granularity_bytes != base_page_bytes() &&
            tally->strata[i].granularity_bytes != huge_page_bytes())
            return true;
    return false;
}

bool witness_alone_judge(const struct tally *tally, struct witness_count *count)
{
    const double seen = (double)larger(tally->resident_bytes - tally->unmeasurable_bytes, 1);
    const uint64_t certain = less(tally->touched_bytes, tally->surplus_bytes);
    const double low = counts_folios(tally) ? 0 : (double)certain / seen;
    const double high = (double)(tally->touched_bytes + tally->missed_bytes) / seen;
    const float faulted = count->missed;
    const struct interval chance = wilson_interval(faulted, count->n, Z_DISPUTE);

    count->both = faulted;
    count->missed = 0;
    if (count->n <= 0)
        return false;
    if (low > chance.high)
        count->others = (float)(low * (double)count->n) - faulted;
    else if (high < chance.low)
        count->missed = faulted - (float)(high * (double)count->n);
    count->both -= count->missed;
    return (count->others > 0 && low > chance.high + (double)count->noise) || count->missed > 0;
}
