// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_json.c  See plan.h: makes the JSON. Unknown values are null. */
#include "show/plan.h"

#include "base/text/units.h"

#include <math.h>

static void set_bytes(json_t *object, const char *key, double bytes)
{
    json_object_set_new(object, key, json_integer((json_int_t)bytes));
}

static void set_count(json_t *object, const char *key, size_t n)
{
    json_object_set_new(object, key, json_integer((json_int_t)n));
}

static void set_real(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

static void set_time(json_t *object, const char *key, double unix_s)
{
    char text[40];

    json_object_set_new(object, key, json_string(show_time(text, sizeof(text), unix_s, 0)));
}

static void set_name(json_t *object, const char *key, const struct plan_fleet *fleet, size_t host)
{
    json_object_set_new(object, key,
                        host == PLAN_NOWHERE ? json_null() : json_text(fleet->hosts[host].name));
}

static json_t *runway_json(const struct plan_runway *runway)
{
    json_t *object;

    if (!runway->known)
        return json_null();
    object = json_object();
    set_bytes(object, "level_bytes", runway->level_bytes);
    set_real(object, "slope_bytes_day", runway->slope_bytes_day);
    set_real(object, "days", runway->days);
    set_real(object, "days_low", runway->low_days);
    set_real(object, "days_high", runway->high_days);
    return object;
}

static void set_need(json_t *object, const struct plan_need *need)
{
    set_bytes(object, "need_p50_bytes", need->p50_bytes);
    set_bytes(object, "need_p95_bytes", need->p95_bytes);
    set_bytes(object, "need_p99_bytes", need->p99_bytes);
    set_bytes(object, "need_max_bytes", need->max_bytes);
    set_bytes(object, "need_risk_bytes", need->risk_bytes);
    set_real(object, "short_share", need->short_share);
    set_real(object, "longest_short_seconds", need->longest_s);
}

static json_t *host_json(const struct plan_shown *shown, size_t h)
{
    const struct plan_host *host = &shown->fleet->hosts[h];
    const struct plan_host_result *result = &shown->result->hosts[h];
    json_t *object = json_object();

    json_object_set_new(object, "host", json_text(host->name));
    if (host->last_s > 0)
        set_time(object, "last", host->last_s);
    else
        json_object_set_new(object, "last", json_null());
    set_real(object, "days", host->days);
    json_object_set_new(object, "stale", json_boolean(host->stale));
    set_real(object, "missed_share", host->missed_share);
    set_count(object, "guests", result->n_guests);
    set_count(object, "guests_after", result->n_guests_after);
    set_bytes(object, "ram_bytes", result->ram_bytes);
    set_bytes(object, "capacity_bytes", (double)host->capacity_bytes);
    set_bytes(object, "reserve_bytes", (double)host->reserve_bytes);
    set_need(object, &result->need);
    set_bytes(object, "planned_bytes", result->planned_bytes);
    set_bytes(object, "planned_after_bytes", result->planned_after_bytes);
    set_bytes(object, "headroom_bytes", result->limit_bytes - result->planned_bytes);
    set_bytes(object, "swap_bytes", result->swap_bytes);
    set_count(object, "unplaced_guests", result->unplaced);
    set_bytes(object, "unplaced_bytes", result->unplaced_bytes);
    json_object_set_new(object, "runway", runway_json(&result->runway));
    json_object_set_new(object, "more_guests",
                        shown->request->n_place && shown->fleet->n_guests
                            ? json_real(result->how_many)
                            : json_null());
    return object;
}

static json_t *guest_json(const struct plan_fleet *fleet, const struct plan_guest *guest)
{
    const double size = plan_right_size(guest);
    json_t *object = json_object();

    json_object_set_new(object, "domain", json_text(guest->name));
    json_object_set_new(object, "uuid", json_text(guest->uuid));
    set_name(object, "host", fleet, guest->host);
    json_object_set_new(object, "measured", json_boolean(!guest->unmeasured));
    json_object_set_new(object, "suspended", json_boolean(guest->suspended));
    json_object_set_new(object, "watched", json_boolean(!guest->unwatched));
    json_object_set_new(object, "pinned", json_boolean(guest->pinned));
    json_object_set_new(object, "apart", json_boolean(guest->apart != 0));
    set_bytes(object, "ram_bytes", (double)guest->ram_bytes);
    set_real(object, "days", guest->days);
    set_bytes(object, "need_p50_bytes", guest->p50_bytes);
    set_bytes(object, "need_p95_bytes", guest->p95_bytes);
    set_bytes(object, "need_p99_bytes", guest->p99_bytes);
    set_bytes(object, "need_max_bytes", guest->max_bytes);
    set_real(object, "trend_bytes_day", guest->trend_bytes_day);
    set_real(object, "factor", guest->factor);
    json_object_set_new(object, "right_size_bytes",
                        size > 0 ? json_integer((json_int_t)size) : json_null());
    json_object_set_new(object, "right_size_window_s",
                        size > 0 ? json_real(guest->size_window_s) : json_null());
    return object;
}

static json_t *move_json(const struct plan_fleet *fleet, const struct plan_move *move)
{
    json_t *object = json_object();

    json_object_set_new(object, "domain", json_text(fleet->guests[move->guest].name));
    json_object_set_new(object, "uuid", json_text(fleet->guests[move->guest].uuid));
    set_name(object, "from", fleet, move->from);
    set_name(object, "to", fleet, move->to);
    json_object_set_new(object, "why", json_string(move->why == PLAN_EMPTY ? "empty" : "relieve"));
    return object;
}

static json_t *moves_json(const struct plan_shown *shown)
{
    json_t *array = json_array();

    if (!shown->request->consolidate) {
        json_decref(array);
        return json_null();
    }
    for (size_t m = 0; m < shown->result->moves.n; m++)
        json_array_append_new(array, move_json(shown->fleet, &shown->result->moves.move[m]));
    return array;
}

static json_t *places_json(const struct plan_shown *shown)
{
    json_t *array = json_array();

    for (size_t i = 0; i < shown->request->n_place; i++) {
        json_t *object = json_object();

        set_bytes(object, "ram_bytes", shown->request->place_bytes[i]);
        set_name(object, "host", shown->fleet, shown->result->place[i]);
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *ratio_json(const struct plan_ratio *ratio)
{
    json_t *object;

    if (ratio->ratio <= 0)
        return json_null();
    object = json_object();
    set_real(object, "ratio", ratio->ratio);
    json_object_set_new(object, "at_least", json_boolean(ratio->at_least));
    return object;
}

json_t *plan_json(const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;
    const struct plan_result *result = shown->result;
    json_t *object = json_object();
    json_t *hosts = json_array();
    json_t *guests = json_array();

    for (size_t h = 0; h < fleet->n_hosts; h++)
        json_array_append_new(hosts, host_json(shown, h));
    for (size_t g = 0; g < fleet->n_guests; g++)
        json_array_append_new(guests, guest_json(fleet, &fleet->guests[g]));
    json_object_set_new(object, "schema", json_string("vmwss.plan.v1"));
    set_time(object, "from", fleet->from_s);
    set_time(object, "to", fleet->from_s + (double)fleet->n_times * fleet->step_s);
    set_count(object, "step_s", (size_t)fleet->step_s);
    set_real(object, "window_s", shown->window_s);
    set_real(object, "risk", shown->request->options.risk);
    set_real(object, "unknown", result->unknown);
    json_object_set_new(object, "hosts", hosts);
    json_object_set_new(object, "guests", guests);
    json_object_set_new(object, "moves", moves_json(shown));
    json_object_set_new(object, "place", places_json(shown));
    json_object_set_new(object, "overcommit", ratio_json(&result->ratio));
    set_count(object, "emptied", result->emptied);
    set_count(object, "short_before", result->short_before);
    set_count(object, "short_after", result->short_after);
    return object;
}
