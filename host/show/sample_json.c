// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/sample_json.h"

#include "show/field_json.h"
#include "show/guest_stats.h"

/* The fields with a name in JSON of a struct that the table describes. */
static json_t *fields_json(const struct field *fields, const void *base)
{
    json_t *object = json_object();

    for (const struct field *field = fields; field->type; field++)
        if (field->json)
            field_json_set(object, field, base);
    return object;
}

json_t *sample_windows_json(const struct sample_record *record)
{
    json_t *windows = json_array();

    for (size_t w = 0; w < record->n_windows; w++)
        json_array_append_new(windows, fields_json(window_fields(), &record->windows[w]));
    return windows;
}

/* The curve was measured. */
static json_t *writes_json(const struct write_curve *curve)
{
    json_t *object = fields_json(write_fields(), curve);
    json_t *windows = json_array();

    for (size_t i = 0; i < curve->n; i++)
        json_array_append_new(windows, fields_json(write_point_fields(), &curve->points[i]));
    json_object_set_new(object, "windows", windows);
    return object;
}

json_t *sample_json(const struct sample_record *record)
{
    json_t *object = json_object();

    for (const struct field *field = sample_fields(); field->type; field++) {
        if (!field->json)
            continue;
        if (field->type == FIELD_WINDOWS)
            json_object_set_new(object, field->json, sample_windows_json(record));
        else
            field_json_set(object, field, record);
    }
    if (record->writes.method)
        json_object_set_new(object, "writes", writes_json(&record->writes));
    if (guest_stats_requested(&record->guest))
        json_object_set_new(object, "guest", guest_stats_json(&record->guest));
    return object;
}

void sample_fill(struct sheet *sheet, const struct sample_record *record)
{
    json_t *object = sheet->format == SHOW_JSON ? sample_json(record) : NULL;

    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i))
        sheet_json(sheet, json_object_iter_key(i), json_incref(json_object_iter_value(i)));
    json_decref(object);
}

/* Seconds are measured to a millisecond; further digits would be noise. */
static void fill_seconds(struct sheet *sheet, const char *key, double value, double unit)
{
    sheet_real(sheet, key, sheet_rounded(value, unit));
}

static void fill_fine(struct sheet *sheet, const struct fine_record *fine)
{
    if (!fine->present) {
        sheet_unknown(sheet, "fine");
        return;
    }
    sheet_group(sheet, "fine");
    fill_seconds(sheet, "window_s", fine->window_s, 0.001);
    fill_seconds(sheet, "est_window_s", fine->est_window_s, 0.0001);
    sheet_bytes(sheet, "wss_bytes", fine->wss_bytes);
    sheet_bytes(sheet, "wss_low_bytes", fine->wss_low_bytes);
    sheet_bytes(sheet, "wss_high_bytes", fine->wss_high_bytes);
    sheet_bytes(sheet, "granularity_bytes", fine->granularity_bytes);
    sheet_count(sheet, "huge_pages_sampled", fine->huge_pages_sampled);
    sheet_count(sheet, "huge_pages_not_measured", fine->huge_pages_not_measured);
    sheet_count(sheet, "huge_pages_not_joined", fine->huge_pages_not_joined);
    fill_seconds(sheet, "cpu_seconds", fine->cpu_s, 0.0001);
    fill_seconds(sheet, "split_seconds", fine->split_s, 0.0001);
    fill_seconds(sheet, "join_seconds", fine->join_s, 0.0001);
    sheet_close(sheet);
}

int sample_json_print(const struct sample_record *record)
{
    struct sheet sheet;

    sheet_begin(&sheet, SHOW_JSON, "vmwss.sample.v1", NULL);
    sample_fill(&sheet, record);
    fill_seconds(&sheet, "marking_seconds", record->marking_s, 0.0001);
    fill_seconds(&sheet, "reading_seconds", record->reading_s, 0.0001);
    fill_fine(&sheet, &record->fine);
    return sheet_end(&sheet);
}
