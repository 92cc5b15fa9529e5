// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file guest_view_json.c  guest_view_print_json(); see guest_view.h. */
#include "show/guest_view.h"

#include "base/text/json.h"
#include "base/text/units.h"
#include "guest/agent/agent_report_json.h"
#include "show/guest_stats.h"
#include "show/sample_json.h"

#include <math.h>

static void set(json_t *object, const char *key, uint64_t value)
{
    if (value != AGENT_UNKNOWN)
        json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* Sets vmwssd's last measurement. */
static void set_record(json_t *object, const struct guest_view *view)
{
    if (!view->record)
        return;
    json_object_set_new(object, "windows", sample_windows_json(view->record));
    json_object_set_new(object, "windows_age_s", json_real(view->record_age_s));
}

static json_t *host_json(const struct guest_view *view)
{
    json_t *object = json_object();

    set(object, "assigned_bytes", view->assigned_bytes);
    set(object, "balloon_bytes", view->memory.current_bytes);
    set(object, "resident_bytes", view->resident_bytes);
    set_record(object, view);
    return object;
}

static json_t *balloon_json(const struct domain_memory *memory)
{
    json_t *object = json_object();

    set(object, "total_bytes", memory->total_bytes);
    set(object, "free_bytes", memory->free_bytes);
    set(object, "available_bytes", memory->available_bytes);
    set(object, "cache_bytes", memory->cache_bytes);
    set(object, "swap_in_bytes", memory->swap_in_bytes);
    set(object, "swap_out_bytes", memory->swap_out_bytes);
    set(object, "major_faults", memory->major_faults);
    set(object, "told_unix_s", memory->updated_s);
    return object;
}

int guest_view_print_json(const struct guest_view *view)
{
    json_t *object = json_object();

    json_object_set_new(object, "schema", json_string("vmwss.guest.v1"));
    json_object_set_new(object, "time", json_string(TIME_TEXT(view->unix_s, 3)));
    json_object_set_new(object, "domain", json_text(view->domain));
    json_object_set_new(object, "uuid", json_text(view->uuid));
    json_object_set_new(object, "pid", json_integer(view->pid));
    json_object_set_new(object, "host", host_json(view));
    json_object_set_new(object, "balloon",
                        domain_memory_is_reported(&view->memory) ? balloon_json(&view->memory)
                                                                 : json_null());
    json_object_set_new(object, "missing",
                        view->report ? json_null() : json_text(view->unavailable));
    json_object_set_new(object, "hello",
                        view->report ? agent_hello_json(view->hello) : json_null());
    json_object_set_new(object, "report",
                        view->report ? agent_report_json(view->report, view->top) : json_null());
    json_object_set_new(object, "told_age_s",
                        isnan(view->report_age_s) ? json_null() : json_real(view->report_age_s));
    json_object_set_new(object, "guest", guest_stats_json(&view->stats));
    return json_print_line(object);
}
