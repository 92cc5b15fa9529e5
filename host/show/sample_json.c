// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_json.c  See sample_json.h. */
#include "show/sample_json.h"

#include "base/text/json.h"
#include "show/field_json.h"
#include "show/guest_stats.h"

#include <math.h>

/* Seconds are measured to a millisecond, and fractions to a few thousandths; more digits would be
 * noise that looks like precision. */
static json_t *rounded(double value, double unit)
{
    return json_real(round(value / unit) * unit);
}

static json_t *window_json(const struct window_record *window)
{
    json_t *object = json_object();

    for (const struct field *field = window_fields(); field->type; field++)
        if (field->json)
            field_json_set(object, field, window);
    return object;
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
    for (const struct field *field = sample_fields(); field->type; field++) {
        if (!field->json)
            continue;
        if (field->type == FIELD_WINDOWS)
            json_object_set_new(object, field->json, sample_windows_json(record));
        else
            field_json_set(object, field, record);
    }
    if (guest_stats_requested(&record->guest))
        json_object_set_new(object, "guest", guest_stats_json(&record->guest));
    return object;
}

void sample_fill(struct sheet *sheet, const struct sample_record *record)
{
    json_t *object = sheet->format == SHOW_JSON ? sample_json(record, "") : NULL;

    json_object_del(object, "schema");
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i))
        sheet_json(sheet, json_object_iter_key(i), json_incref(json_object_iter_value(i)));
    json_decref(object);
}

static json_t *fine_json(const struct fine_record *fine)
{
    json_t *object = fine->present ? json_object() : json_null();

    if (!fine->present)
        return object;
    json_object_set_new(object, "window_s", rounded(fine->window_s, 0.001));
    json_object_set_new(object, "est_window_s", rounded(fine->est_window_s, 0.0001));
    json_object_set_new(object, "wss_bytes", json_u64(fine->wss_bytes));
    json_object_set_new(object, "wss_low_bytes", json_u64(fine->wss_low_bytes));
    json_object_set_new(object, "wss_high_bytes", json_u64(fine->wss_high_bytes));
    json_object_set_new(object, "granularity_bytes", json_u64(fine->granularity_bytes));
    json_object_set_new(object, "huge_pages_sampled", json_u64(fine->huge_pages_sampled));
    json_object_set_new(object, "huge_pages_not_measured", json_u64(fine->huge_pages_not_measured));
    json_object_set_new(object, "huge_pages_not_joined", json_u64(fine->huge_pages_not_joined));
    json_object_set_new(object, "cpu_seconds", rounded(fine->cpu_s, 0.0001));
    json_object_set_new(object, "split_seconds", rounded(fine->split_s, 0.0001));
    json_object_set_new(object, "join_seconds", rounded(fine->join_s, 0.0001));
    return object;
}

int sample_json_print(const struct sample_record *record)
{
    json_t *object = sample_json(record, "vmwss.sample.v1");

    json_object_set_new(object, "marking_seconds", rounded(record->marking_s, 0.0001));
    json_object_set_new(object, "reading_seconds", rounded(record->reading_s, 0.0001));
    json_object_set_new(object, "fine", fine_json(&record->fine));
    return json_print_line(object);
}
