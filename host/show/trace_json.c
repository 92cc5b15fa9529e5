// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trace_json.c  A trace as JSON; see trace.h. */
#include "show/trace.h"

#include "base/text/json.h"
#include "base/text/units.h"

#include <math.h>

/* The same as in sample_json.c. */
static json_t *rounded(double value, double unit)
{
    return json_real(round(value / unit) * unit);
}

static json_t *seconds(double value)
{
    return rounded(value, 1e-6);
}

static json_t *time_json(double unix_s)
{
    char text[40];

    return json_string(show_time(text, sizeof(text), unix_s, 3));
}

static void set_bytes(json_t *object, const char *name, const struct trace_bytes *bytes)
{
    json_t *value = json_object();

    json_object_set_new(value, "bytes", json_u64(bytes->bytes));
    json_object_set_new(value, "low_bytes", json_u64(bytes->low_bytes));
    json_object_set_new(value, "high_bytes", json_u64(bytes->high_bytes));
    json_object_set_new(object, name, value);
}

static void set_wss(json_t *object, const struct trace_bytes *wss)
{
    json_object_set_new(object, "wss_bytes", json_u64(wss->bytes));
    json_object_set_new(object, "wss_low_bytes", json_u64(wss->low_bytes));
    json_object_set_new(object, "wss_high_bytes", json_u64(wss->high_bytes));
}

/* --- periods ---------------------------------------------------------------------------------- */

static json_t *readings_json(const struct trace_period *period)
{
    json_t *array = json_array();

    for (size_t r = 0; r < period->n_readings; r++) {
        const struct trace_reading *reading = &period->readings[r];
        json_t *object = json_object();

        json_object_set_new(object, "est_window_s", seconds(reading->est_window_s));
        set_wss(object, &(struct trace_bytes){reading->wss_bytes, reading->wss_low_bytes,
                                              reading->wss_high_bytes});
        json_array_append_new(array, object);
    }
    return array;
}

static void set_pages(json_t *object, const char *name, const struct trace_layout *layout,
                      const struct trace_change *change, uint64_t pages)
{
    const struct trace_bytes bytes = trace_stats_bytes(layout, change, pages);

    set_bytes(object, name, &bytes);
}

static void set_before(json_t *object, const struct trace_layout *layout,
                       const struct trace_change *change)
{
    const struct interval reused = trace_stats_share(layout, change, change->kept, change->touched);

    if (change->touched > 0)
        json_object_set_new(object, "reused",
                            rounded((double)change->kept / (double)change->touched, 1e-6));
    json_object_set_new(object, "reused_low", rounded(reused.low, 1e-6));
    json_object_set_new(object, "reused_high", rounded(reused.high, 1e-6));
    set_pages(object, "kept", layout, change, change->kept);
    set_pages(object, "new", layout, change, change->touched - change->kept);
    set_pages(object, "first", layout, change, change->first);
    set_pages(object, "departed", layout, change, change->departed);
    set_pages(object, "departed_missing", layout, change, change->departed_missing);
    set_pages(object, "departed_unmeasurable", layout, change, change->departed_unmeasurable);
}

json_t *trace_period_json(const struct trace_reader *reader, const struct trace_change *change)
{
    const struct trace_period *period = &reader->period;
    json_t *object = json_object();

    json_object_set_new(object, "begin", time_json(trace_begin_unix_s(period)));
    json_object_set_new(object, "end", time_json(period->end_unix_s));
    json_object_set_new(object, "marking_s", seconds(period->marking_s));
    json_object_set_new(object, "reading_s", seconds(period->reading_s));
    json_object_set_new(object, "vcpu_seconds", seconds(period->vcpu_s));
    json_object_set_new(object, "resident_bytes", json_u64(period->resident_bytes));
    json_object_set_new(object, "unmeasurable_bytes", json_u64(period->unmeasurable_bytes));
    json_object_set_new(object, "flags", json_text(period->flags));
    json_object_set_new(object, "readings", readings_json(period));
    json_object_set_new(object, "pages", json_u64(reader->layout.n));
    json_object_set_new(object, "touched_pages", json_u64(change->touched));
    json_object_set_new(object, "kept_pages", json_u64(change->kept));
    json_object_set_new(object, "gone_pages", json_u64(change->gone));
    if (change->has_before)
        set_before(object, &reader->layout, change);
    return object;
}

/* --- all of it -------------------------------------------------------------------------------- */

static json_t *span_json(const struct trace_span *span)
{
    json_t *object = json_object();

    json_object_set_new(object, "periods", json_u64(span->periods));
    json_object_set_new(object, "stretches", json_u64(span->n));
    json_object_set_new(object, "window_s", seconds(span->window_s));
    json_object_set_new(object, "watched_s", seconds(span->watched_s));
    set_wss(object, &span->wss);
    json_object_set_new(object, "least_bytes", json_u64(span->least_bytes));
    json_object_set_new(object, "most_bytes", json_u64(span->most_bytes));
    json_object_set_new(object, "missed",
                        span->n_after > 0 ? rounded(span->missed, 1e-6) : json_null());
    return object;
}

static json_t *spans_json(const struct trace_stats *stats)
{
    struct trace_span spans[RUN_MAX_WINDOWS + TRACE_MAX_SPANS];
    size_t n = trace_stats_spans(stats, spans, sizeof(spans) / sizeof(spans[0]));
    json_t *array = json_array();

    for (size_t s = 0; s < n; s++)
        json_array_append_new(array, span_json(&spans[s]));
    return array;
}

json_t *trace_json(const struct trace_reader *reader, const struct trace_stats *stats, bool cut)
{
    const struct trace_head *head = &reader->head;
    json_t *object = json_object();
    json_t *windows = json_array();

    for (size_t w = 0; w < head->n_windows; w++)
        json_array_append_new(windows, json_real(head->window_s[w]));
    json_object_set_new(object, "schema", json_string("vmwss.trace.v1"));
    json_object_set_new(object, "host", json_text(head->host));
    json_object_set_new(object, "domain", json_text(head->domain));
    json_object_set_new(object, "uuid", json_text(head->uuid));
    json_object_set_new(object, "pid", json_u64(head->pid));
    json_object_set_new(object, "accel", json_text(head->accel));
    json_object_set_new(object, "method", json_text(head->method));
    json_object_set_new(object, "census", json_boolean(head->census));
    json_object_set_new(object, "interval_s", seconds(head->interval_s));
    json_object_set_new(object, "readings_s", windows);
    json_object_set_new(object, "ram_bytes", json_u64(reader->layout.ram_pages * TRACE_PAGE_BYTES));
    json_object_set_new(object, "cut", json_boolean(cut));
    json_object_set_new(object, "ended", cut ? json_null() : json_text(reader->end.reason));
    json_object_set_new(object, "windows", spans_json(stats));
    return object;
}
