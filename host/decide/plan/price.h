// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file price.h  What moving a guest costs: the forecast of its live migration (decide/migrate/).
 *
 * A guest whose migration converges at all hours of the week, as far as they are known, has one
 * price. For another one each hour is tried, and the best one is named with its price. If it
 * converges at none, the guest stays where it is. Nothing is assumed about a guest whose writes are
 * not known: it has no price, and may be moved.
 */
#pragma once

#include "decide/migrate/terms.h"
#include "decide/plan/fleet.h"
#include "decide/plan/writes.h"

struct plan_price {
    bool known;                   /* false: nothing else is set */
    enum migrate_verdict verdict; /* at that hour: */
    unsigned hour;                /* of the week; or PLAN_ANY_HOUR */
    struct migrate_range total_s, downtime_s, sent_bytes;
    size_t n_curves; /* on which it rests */
    /* The least bandwidth with which it converges; NAN: none does. */
    struct migrate_range enough_bandwidth_bytes_s;
};

/** Prices all guests whose writes are known, into fleet->prices. Returns 0 or -ENOMEM. */
int plan_price_guests(struct plan_fleet *fleet, const struct migrate_terms *terms);

/** Returns the price of a guest; NULL: it is not known. */
const struct plan_price *plan_price_of(const struct plan_fleet *fleet, size_t guest);

/** Returns true if the guest's migration converges at no hour. */
bool plan_is_stuck(const struct plan_fleet *fleet, size_t guest);

/** Foretells the migration of a guest of @p ram_bytes by the curves of an hour of the week, or of
 * PLAN_ANY_HOUR. Returns false if there are none. */
bool plan_foretell(const struct plan_writes *writes, double ram_bytes, unsigned hour,
                   const struct migrate_terms *terms, struct migrate_forecast *forecast);

/** Returns true if @p a is the better time to migrate: the surer verdict, then the shorter time. */
bool plan_is_better(const struct migrate_forecast *a, const struct migrate_forecast *b);
