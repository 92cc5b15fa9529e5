// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/price.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

typedef void forecaster(const struct migrate_memory *memory, const struct migrate_path *path,
                        struct migrate_forecast *forecast);

/* Returns false if nothing is known of that hour. */
static bool foretell(const struct plan_writes *writes, double ram_bytes, unsigned hour,
                     const struct migrate_terms *terms, forecaster *with,
                     struct migrate_forecast *forecast)
{
    const struct write_curve curve = plan_writes_at(writes, hour);
    const struct migrate_path path = migrate_path_of(terms, writes->kvm);
    const struct migrate_memory memory = {
        .ram_bytes = ram_bytes,
        .filled_bytes = migrate_filled(ram_bytes, (double)writes->resident_bytes, &curve, false),
        .wss_bytes = NAN,
        .writes = &curve,
    };

    if (curve.n == 0)
        return false;
    with(&memory, &path, forecast);
    return true;
}

bool plan_foretell(const struct plan_writes *writes, double ram_bytes, unsigned hour,
                   const struct migrate_terms *terms, struct migrate_forecast *forecast)
{
    return foretell(writes, ram_bytes, hour, terms, migrate_foretell, forecast);
}

/* A total that is not known, as it never ends, is the worst. */
bool plan_is_better(const struct migrate_forecast *a, const struct migrate_forecast *b)
{
    if (a->verdict != b->verdict)
        return a->verdict < b->verdict;
    return isnan(b->total_s.value) ? !isnan(a->total_s.value) : a->total_s.value < b->total_s.value;
}

/* Returns the hour of the week with the best forecast. */
static unsigned best_hour(const struct plan_fleet *fleet, size_t g,
                          const struct migrate_terms *terms, const struct migrate_forecast *any)
{
    const double ram_bytes = (double)fleet->guests[g].ram_bytes;
    struct migrate_forecast best = *any, forecast;
    unsigned hour = PLAN_ANY_HOUR;

    for (unsigned h = 0; h < PLAN_WEEK_HOURS; h++)
        if (foretell(fleet->writes[g], ram_bytes, h, terms, migrate_judge, &forecast) &&
            plan_is_better(&forecast, &best)) {
            best = forecast;
            hour = h;
        }
    return hour;
}

static struct plan_price price(const struct plan_fleet *fleet, size_t g,
                               const struct migrate_terms *terms)
{
    const struct plan_writes *writes = fleet->writes[g];
    const double ram_bytes = (double)fleet->guests[g].ram_bytes;
    struct migrate_forecast forecast;
    unsigned hour = PLAN_ANY_HOUR;

    if (!plan_foretell(writes, ram_bytes, hour, terms, &forecast))
        return (struct plan_price){.known = false};
    if (forecast.verdict != MIGRATE_CONVERGES) {
        hour = best_hour(fleet, g, terms, &forecast);
        plan_foretell(writes, ram_bytes, hour, terms, &forecast);
    }
    return (struct plan_price){.known = true,
                               .verdict = forecast.verdict,
                               .hour = hour,
                               .total_s = forecast.total_s,
                               .downtime_s = forecast.downtime_s,
                               .sent_bytes = forecast.sent_bytes,
                               .n_curves = plan_writes_count(writes, hour),
                               .enough_bandwidth_bytes_s = forecast.enough_bandwidth_bytes_s};
}

int plan_price_guests(struct plan_fleet *fleet, const struct migrate_terms *terms)
{
    free(fleet->prices);
    fleet->prices = calloc(fleet->n_guests + 1, sizeof(*fleet->prices));
    if (!fleet->prices)
        return -ENOMEM;
    for (size_t g = 0; g < fleet->n_guests; g++)
        if (fleet->writes[g])
            fleet->prices[g] = price(fleet, g, terms);
    return 0;
}

const struct plan_price *plan_price_of(const struct plan_fleet *fleet, size_t guest)
{
    return fleet->prices && fleet->prices[guest].known ? &fleet->prices[guest] : NULL;
}

bool plan_is_stuck(const struct plan_fleet *fleet, size_t guest)
{
    const struct plan_price *price = plan_price_of(fleet, guest);

    return price && price->verdict == MIGRATE_DIVERGES;
}
