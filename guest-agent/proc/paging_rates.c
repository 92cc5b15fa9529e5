// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file paging_rates.c  See paging_rates.h. */
#include "proc/paging_rates.h"

#include "proc/keyed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void paging_rates(const struct paging *before, const struct paging *now, double interval_s,
                  struct paging_rates *rates)
{
    uint64_t was[PAGING_COUNTERS], is[PAGING_COUNTERS];

    memcpy(was, before, sizeof(was));
    memcpy(is, now, sizeof(is));
    rates->interval_s = interval_s;
    for (size_t i = 0; i < PAGING_COUNTERS; i++) {
        bool told = was[i] != KEYED_UNKNOWN && is[i] != KEYED_UNKNOWN && is[i] >= was[i];

        rates->per_s[i] = told && interval_s > 0 ? (double)(is[i] - was[i]) / interval_s : NAN;
    }
}

/* The rate of a member of struct paging, 0 where it is not reported. */
static double rate_at(const struct paging_rates *rates, size_t offset)
{
    double rate = rates->per_s[offset / sizeof(uint64_t)];

    return isnan(rate) ? 0 : rate;
}
#define RATE(rates, member) rate_at(rates, offsetof(struct paging, member))

/* Pages that were gone and came back. A refault of an anonymous page is a swap-in, too: counted
 * once. */
static double paged(const struct paging_rates *rates)
{
    return fmax(RATE(rates, swap_in_pages), RATE(rates, refault_anon_pages)) +
           RATE(rates, refault_file_pages);
}

static double scanned(const struct paging_rates *rates)
{
    return RATE(rates, scanned_kswapd_pages) + RATE(rates, scanned_direct_pages);
}

enum paging_verdict paging_verdict(const struct paging_rates *rates)
{
    if (scanned(rates) < PAGING_NEAR_PER_S)
        return PAGING_BELOW;
    return paged(rates) >= PAGING_ABOVE_PER_S ? PAGING_ABOVE : PAGING_NEAR;
}

const char *paging_verdict_name(enum paging_verdict verdict)
{
    static const char *const names[] = {
        [PAGING_BELOW] = "below", [PAGING_NEAR] = "near", [PAGING_ABOVE] = "above"};

    return names[verdict];
}

char *paging_reason(const struct paging_rates *rates, char *text, size_t size)
{
    bool comes_back = paged(rates) >= PAGING_ABOVE_PER_S;
    bool scans = scanned(rates) >= PAGING_NEAR_PER_S;

    snprintf(
        text, size,
        "%.1f pages scanned a second (%s %.0f), %.1f came back after they were reclaimed (%s %.0f)%s",
        scanned(rates), scans ? "from" : "below", PAGING_NEAR_PER_S, paged(rates),
        comes_back ? "from" : "below", PAGING_ABOVE_PER_S,
        comes_back && !scans ? ": within a control group's own limit, or from an earlier time"
                             : "");
    return text;
}
