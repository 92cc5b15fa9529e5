// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file status_json.c  status_json_print(): see status.h. */
#include "show/status.h"

#include "base/text/json.h"
#include "base/text/units.h"
#include "show/sample_json.h"

#include <math.h>

static void set_bytes(json_t *object, const char *key, uint64_t bytes)
{
    json_object_set_new(object, key,
                        bytes == STATUS_UNKNOWN ? json_null() : json_integer((json_int_t)bytes));
}

/* Sets seconds, to the millisecond; null if they are not known (< 0). */
static void set_seconds(json_t *object, const char *key, double seconds)
{
    json_object_set_new(object, key,
                        seconds < 0 ? json_null() : json_real(round(seconds * 1000) / 1000));
}

static void set_time(json_t *object, const char *key, double unix_s)
{
    char text[40];

    json_object_set_new(object, key,
                        unix_s > 0 ? json_string(show_time(text, sizeof(text), unix_s, 3))
                                   : json_null());
}

static void set_pid(json_t *object, const char *key, pid_t pid)
{
    json_object_set_new(object, key, pid > 0 ? json_integer(pid) : json_null());
}

static json_t *daemon_json(const struct status *status)
{
    const struct status_daemon *daemon = &status->daemon;
    json_t *object = json_object();
    const bool runs = daemon->pid > 0;

    json_object_set_new(object, "running", json_boolean(runs));
    json_object_set_new(object, "writes_history", json_boolean(daemon->writes));
    set_pid(object, "pid", daemon->pid);
    set_pid(object, "scanner_pid", daemon->scanner_pid);
    set_time(object, "since", runs ? status->now_s - daemon->age_s : 0);
    set_seconds(object, "cpu_seconds", runs ? daemon->cpu_s : -1);
    json_object_set_new(object, "budget",
                        daemon->budget > 0 ? json_real(daemon->budget) : json_null());
    json_object_set_new(object, "config", json_text(daemon->config));
    return object;
}

static json_t *memory_json(const struct status *status)
{
    const struct host_memory *memory = &status->memory;
    json_t *object = json_object();
    uint64_t assigned = 0;

    for (size_t i = 0; i < status->n; i++)
        if (status->guests[i].assigned_bytes != STATUS_UNKNOWN)
            assigned += status->guests[i].assigned_bytes;
    set_bytes(object, "total_bytes", memory->total_bytes);
    set_bytes(object, "available_bytes", memory->available_bytes);
    set_bytes(object, "swap_total_bytes", memory->swap_total_bytes);
    set_bytes(object, "swap_free_bytes", memory->swap_free_bytes);
    set_bytes(object, "assigned_bytes", assigned);
    json_object_set_new(object, "overcommit",
                        json_real((double)assigned / (double)memory->total_bytes));
    return object;
}

/* Makes a guest: its last record as vmwss.sample.v1, if it has one, and the data outside of the
 * record. */
static json_t *guest_json(const struct status_guest *guest)
{
    const struct sample_record *sample = &guest->kept.record.sample;
    json_t *object = guest->has_record ? sample_json(sample, "") : json_object();
    uint64_t bytes;

    json_object_del(object, "schema");
    json_object_set_new(object, "domain", json_text(guest->name));
    json_object_set_new(object, "uuid", json_text(guest->uuid));
    set_pid(object, "pid", guest->pid);
    set_bytes(object, "ram_bytes", guest->assigned_bytes);
    set_bytes(object, "balloon_bytes", guest->balloon_bytes);
    json_object_set_new(object, "measured", json_boolean(guest->measured));
    json_object_set_new(object, "suspended", json_boolean(guest->suspended));
    json_object_set_new(object, "reason", json_text(guest->reason));
    set_seconds(object, "age_seconds", guest->has_record ? guest->age_s : -1);
    set_bytes(object, "reclaimable_bytes",
              guest->measured && sample_reclaimable(sample, &bytes) ? bytes : STATUS_UNKNOWN);
    return object;
}

int status_json_print(const struct status *status)
{
    json_t *object = json_object();
    json_t *guests = json_array();

    for (size_t i = 0; i < status->n; i++)
        json_array_append_new(guests, guest_json(&status->guests[i]));
    json_object_set_new(object, "schema", json_string("vmwss.status.v1"));
    set_time(object, "time", status->now_s);
    json_object_set_new(object, "host", json_text(status->host));
    json_object_set_new(object, "well", json_boolean(status_is_well(status)));
    json_object_set_new(object, "database", json_text(status->database));
    json_object_set_new(object, "history_error", json_text(status->no_history));
    set_time(object, "newest", status->newest_s);
    json_object_set_new(object, "daemon", daemon_json(status));
    json_object_set_new(object, "memory", memory_json(status));
    json_object_set_new(object, "sees_processes", json_boolean(status->sees_processes));
    json_object_set_new(object, "guests", guests);
    return json_print_line(object);
}
