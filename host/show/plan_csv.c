// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_csv.c  See plan.h: the CSV has one line, with its scope, for each host, guest and
 * move. */
#include "show/plan.h"

#include "base/text/csv.h"

#include <math.h>

static const char *const names[] = {
    "scope",
    "host",
    "domain",
    "uuid",
    "to",
    "guests",
    "ram_bytes",
    "capacity_bytes",
    "reserve_bytes",
    "need_p50_bytes",
    "need_p95_bytes",
    "need_p99_bytes",
    "need_max_bytes",
    "planned_bytes",
    "short_share",
    "longest_short_seconds",
    "swap_bytes",
    "unplaced_guests",
    "runway_days",
    "runway_days_low",
    "runway_days_high",
    "days",
    "right_size_bytes",
    "right_size_window_s",
    NULL,
};

static void nothings(struct csv *csv, int n)
{
    while (n-- > 0)
        csv_nothing(csv);
}

static void days(struct csv *csv, bool known, double value)
{
    if (known && isfinite(value))
        csv_number(csv, value);
    else
        csv_nothing(csv);
}

static void needs(struct csv *csv, double p50, double p95, double p99, double max)
{
    csv_whole(csv, (uint64_t)p50);
    csv_whole(csv, (uint64_t)p95);
    csv_whole(csv, (uint64_t)p99);
    csv_whole(csv, (uint64_t)max);
}

static void csv_host(const struct plan_host *host, const struct plan_host_result *result)
{
    const struct plan_need *need = &result->need;
    const struct plan_runway *runway = &result->runway;
    struct csv csv = {0};

    csv_text(&csv, "host");
    csv_text(&csv, host->name);
    nothings(&csv, 3);
    csv_whole(&csv, result->n_guests);
    csv_whole(&csv, (uint64_t)result->ram_bytes);
    csv_whole(&csv, host->capacity_bytes);
    csv_whole(&csv, host->reserve_bytes);
    needs(&csv, need->p50_bytes, need->p95_bytes, need->p99_bytes, need->max_bytes);
    csv_whole(&csv, (uint64_t)result->planned_bytes);
    csv_number(&csv, need->short_share);
    csv_number(&csv, need->longest_s);
    csv_whole(&csv, (uint64_t)result->swap_bytes);
    csv_whole(&csv, result->unplaced);
    days(&csv, runway->known, runway->days);
    days(&csv, runway->known, runway->low_days);
    days(&csv, runway->known, runway->high_days);
    csv_number(&csv, host->days);
    nothings(&csv, 2);
    csv_end(&csv);
}

static void csv_guest(const struct plan_fleet *fleet, const struct plan_guest *guest)
{
    const double size = plan_right_size(guest);
    struct csv csv = {0};

    csv_text(&csv, "guest");
    csv_text(&csv, fleet->hosts[guest->host].name);
    csv_text(&csv, guest->name);
    csv_text(&csv, guest->uuid);
    nothings(&csv, 2);
    csv_whole(&csv, guest->ram_bytes);
    nothings(&csv, 2);
    needs(&csv, guest->p50_bytes, guest->p95_bytes, guest->p99_bytes, guest->max_bytes);
    nothings(&csv, 8);
    csv_number(&csv, guest->days);
    if (size > 0) {
        csv_whole(&csv, (uint64_t)size);
        csv_number(&csv, guest->size_window_s);
    } else {
        nothings(&csv, 2);
    }
    csv_end(&csv);
}

static void csv_move(const struct plan_fleet *fleet, const struct plan_move *move)
{
    const struct plan_guest *guest = &fleet->guests[move->guest];
    struct csv csv = {0};

    csv_text(&csv, "move");
    csv_text(&csv, fleet->hosts[move->from].name);
    csv_text(&csv, guest->name);
    csv_text(&csv, guest->uuid);
    csv_text(&csv, fleet->hosts[move->to].name);
    nothings(&csv, 19);
    csv_end(&csv);
}

void plan_csv(const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;

    csv_heading(names);
    for (size_t h = 0; h < fleet->n_hosts; h++)
        csv_host(&fleet->hosts[h], &shown->result->hosts[h]);
    for (size_t g = 0; g < fleet->n_guests; g++)
        csv_guest(fleet, &fleet->guests[g]);
    for (size_t m = 0; m < shown->result->moves.n; m++)
        csv_move(fleet, &shown->result->moves.move[m]);
}
