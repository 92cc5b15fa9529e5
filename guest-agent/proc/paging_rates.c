// SPDX-License-Identifier: LGPL-2.1-or-later
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

/* A sum of rates. If some of them are unknown, it is a lower bound. */
struct sum {
    double per_s;
    bool whole;
};

static double rate_at(const struct paging_rates *rates, size_t offset)
{
    return rates->per_s[offset / sizeof(uint64_t)];
}
#define RATE(rates, member) rate_at(rates, offsetof(struct paging, member))

static struct sum sum_of(double a, double b)
{
    return (struct sum){(isnan(a) ? 0 : a) + (isnan(b) ? 0 : b), !isnan(a) && !isnan(b)};
}

/* Sums up pages that were read back. A refault of an anonymous page is also a swap-in, and counts
 * once; before Linux 5.9 it is only counted as a swap-in. */
static struct sum paged(const struct paging_rates *rates)
{
    double swapped = RATE(rates, swap_in_pages), refault = RATE(rates, refault_anon_pages);
    struct sum sum = sum_of(fmax(swapped, refault), RATE(rates, refault_file_pages));

    sum.whole &= !isnan(swapped);
    return sum;
}

static struct sum scanned(const struct paging_rates *rates)
{
    return sum_of(RATE(rates, scanned_kswapd_pages), RATE(rates, scanned_direct_pages));
}

enum paging_verdict paging_verdict(const struct paging_rates *rates)
{
    struct sum scans = scanned(rates), back = paged(rates);

    if (scans.per_s < PAGING_NEAR_PER_S)
        return scans.whole ? PAGING_BELOW : PAGING_UNKNOWN;
    if (back.per_s >= PAGING_ABOVE_PER_S)
        return PAGING_ABOVE;
    return back.whole ? PAGING_NEAR : PAGING_UNKNOWN;
}

const char *paging_verdict_name(enum paging_verdict verdict)
{
    static const char *const names[] = {[PAGING_BELOW] = "below",
                                        [PAGING_NEAR] = "near",
                                        [PAGING_ABOVE] = "above",
                                        [PAGING_UNKNOWN] = "unknown"};

    return names[verdict];
}

/* "12.5 pages scanned a second (below 32)" */
static int print_sum(char *text, size_t size, struct sum sum, double limit, const char *what)
{
    bool reached = sum.per_s >= limit;

    if (!sum.whole && !reached)
        return snprintf(text, size, "how many %s is not known", what);
    return snprintf(text, size, "%s%.1f %s (%s %.0f)", sum.whole ? "" : "at least ", sum.per_s,
                    what, reached ? "from" : "below", limit);
}

char *paging_reason(const struct paging_rates *rates, char *text, size_t size)
{
    struct sum scans = scanned(rates), back = paged(rates);
    char second[100];
    int length = print_sum(text, size, scans, PAGING_NEAR_PER_S, "pages scanned a second");

    print_sum(second, sizeof(second), back, PAGING_ABOVE_PER_S,
              "came back after they were reclaimed");
    snprintf(text + length, size - (size_t)length, ", %s%s", second,
             back.per_s >= PAGING_ABOVE_PER_S && scans.whole && scans.per_s < PAGING_NEAR_PER_S
                 ? ": within a control group's own limit, or from an earlier time"
                 : "");
    return text;
}
