// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_json.c  See sample_json.h. */
#include "show/sample_json.h"

#include "show/guest_word.h"
#include "show/json.h"

#include <math.h>
#include <stdio.h>

/* Seconds and fractions are measured to a millisecond and to a few thousandths; more digits would
 * be noise that looks like precision. */
static json_t *rounded(double value, double unit)
{
    return json_real(round(value / unit) * unit);
}

static json_t *bytes(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *time_string(const struct timespec *time)
{
    struct tm utc;
    char text[64];
    size_t n;

    gmtime_r(&time->tv_sec, &utc);
    n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + n, sizeof(text) - n, ".%03ldZ", time->tv_nsec / 1000000);
    return json_string(text);
}

static json_t *window_json(const struct window_record *window)
{
    json_t *object = json_object();

    json_object_set_new(object, "window_s", rounded(window->window_s, 0.001));
    json_object_set_new(object, "est_window_s", rounded(window->est_window_s, 0.0001));
    json_object_set_new(object, "wss_bytes", bytes(window->wss_bytes));
    json_object_set_new(object, "wss_low_bytes", bytes(window->wss_low_bytes));
    json_object_set_new(object, "wss_high_bytes", bytes(window->wss_high_bytes));
    json_object_set_new(object, "wss_unit_low_bytes", bytes(window->unit_low_bytes));
    json_object_set_new(object, "touched_fraction", rounded(window->touched_fraction, 0.00001));
    if (window->gone_bytes != GONE_NOT_KEPT)
        json_object_set_new(object, "gone_bytes", bytes(window->gone_bytes));
    return object;
}

static json_t *flags_json(unsigned flags)
{
    json_t *array = json_array();
    const char *name;

    for (unsigned i = 0; (name = sample_flag_name(i)); i++)
        if (flags & (1U << i))
            json_array_append_new(array, json_string(name));
    return array;
}

json_t *sample_windows_json(const struct sample_record *record)
{
    json_t *windows = json_array();

    for (size_t w = 0; w < record->n_windows; w++)
        json_array_append_new(windows, window_json(&record->windows[w]));
    return windows;
}

json_t *sample_json(const struct sample_record *record, const char *schema)
{
    json_t *object = json_object();

    json_object_set_new(object, "schema", json_string(schema));
    json_object_set_new(object, "time", time_string(&record->time));
    json_object_set_new(object, "host", json_text(record->host));
    json_object_set_new(object, "domain", json_text(record->domain));
    json_object_set_new(object, "uuid", json_text(record->uuid));
    json_object_set_new(object, "pid", json_integer(record->pid));
    json_object_set_new(object, "accel", json_string(accel_name(record->accel)));
    json_object_set_new(object, "method", json_string(record->method));
    json_object_set_new(object, "mode", json_string(record->census ? "census" : "panel"));
    json_object_set_new(object, "samples", bytes(record->samples));
    json_object_set_new(object, "granularity_bytes", bytes(record->granularity_bytes));
    json_object_set_new(object, "ram_bytes", bytes(record->ram_bytes));
    json_object_set_new(object, "resident_bytes", bytes(record->resident_bytes));
    json_object_set_new(object, "unmeasurable_bytes", bytes(record->unmeasurable_bytes));
    json_object_set_new(object, "vcpu_seconds", rounded(record->vcpu_s, 0.001));
    json_object_set_new(object, "windows", sample_windows_json(record));
    json_object_set_new(object, "cpu_seconds", rounded(record->cpu_s, 0.0001));
    json_object_set_new(object, "pause_seconds", rounded(record->paused_s, 0.0001));
    json_object_set_new(object, "flags", flags_json(record->flags));
    if (word_was_asked(&record->guest))
        json_object_set_new(object, "guest", word_json(&record->guest));
    return object;
}

static json_t *fine_json(const struct fine_record *fine)
{
    json_t *object = fine->present ? json_object() : json_null();

    if (!fine->present)
        return object;
    json_object_set_new(object, "window_s", rounded(fine->window_s, 0.001));
    json_object_set_new(object, "est_window_s", rounded(fine->est_window_s, 0.0001));
    json_object_set_new(object, "wss_bytes", bytes(fine->wss_bytes));
    json_object_set_new(object, "wss_low_bytes", bytes(fine->wss_low_bytes));
    json_object_set_new(object, "wss_high_bytes", bytes(fine->wss_high_bytes));
    json_object_set_new(object, "granularity_bytes", bytes(fine->granularity_bytes));
    json_object_set_new(object, "huge_pages_sampled", bytes(fine->huge_pages_sampled));
    json_object_set_new(object, "huge_pages_not_measured", bytes(fine->huge_pages_not_measured));
    json_object_set_new(object, "huge_pages_not_joined", bytes(fine->huge_pages_not_joined));
    json_object_set_new(object, "cpu_seconds", rounded(fine->cpu_s, 0.0001));
    json_object_set_new(object, "split_seconds", rounded(fine->split_s, 0.0001));
    json_object_set_new(object, "join_seconds", rounded(fine->join_s, 0.0001));
    return object;
}

int sample_json_print(const struct sample_record *record)
{
    json_t *object = sample_json(record, "vmwss.sample.v1");

    json_object_set_new(object, "fine", fine_json(&record->fine));
    return json_print_line(object);
}
