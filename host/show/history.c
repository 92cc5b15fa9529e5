// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file history.c  See history.h. */
#include "show/history.h"

#include "base/utf8.h"
#include "show/csv.h"
#include "show/guest_word.h"
#include "show/json.h"
#include "show/table.h"
#include "show/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct history_output {
    enum show_format format;
    const struct history_guest *guest;
    struct history_query query;
    struct table *table;
    bool words;                      /* the guest was asked at some time */
    char missing[WORD_MISSING_TEXT]; /* why it told nothing, the last time; "": it did */
};

static const struct table_column columns[] = {
    {.name = "TIME"},
    {.name = "EST", .right = true},
    {.name = "WSS", .right = true},
    {.name = "±", .right = true},
    {.name = "MIN", .right = true},
    {.name = "P95", .right = true},
    {.name = "MAX", .right = true},
    {.name = "RESIDENT", .right = true},
    {.name = "RAM", .right = true},
    {.name = "RECORDS", .right = true},
    {.name = "METHOD"},
    {.name = "GUEST AVAIL", .right = true},
    {.name = "PSI", .right = true},
    {.name = "NEEDS"},
    {.name = "FLAGS", .last = true},
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))
/* What the guest itself says: only there if somebody asked it. */
#define WORD_COLUMNS_FIRST 11
#define WORD_COLUMNS_LAST 13

static const char *const csv_names[] = {
    "time",
    "host",
    "domain",
    "uuid",
    "level",
    "records",
    "period_seconds",
    "window_s",
    "est_window_s",
    "wss_bytes",
    "wss_low_bytes",
    "wss_high_bytes",
    "wss_min_bytes",
    "wss_p95_bytes",
    "wss_max_bytes",
    "ram_bytes",
    "resident_bytes",
    "unmeasurable_bytes",
    "precision",
    "cpu_seconds",
    "method",
    "flags",
    "guest_source",
    "guest_used_bytes",
    "guest_available_bytes",
    "guest_psi_some_ratio",
    "guest_psi_full_ratio",
    "guest_swap_in_bytes_per_s",
    "guest_refault_bytes_per_s",
    "guest_cache_warm_bytes",
    "guest_cache_cold_bytes",
    "guest_own_window_s",
    "guest_own_anon_bytes",
    "guest_own_file_bytes",
    "guest_verdict",
    "guest_agreement",
    "guest_missing",
    NULL,
};

static const char *level_name(int level_s)
{
    if (level_s == 0)
        return "record";
    return level_s == BUCKET_MINUTE ? "minute" : "hour";
}

struct history_output *history_output_new(enum show_format format,
                                          const struct history_guest *guest,
                                          const struct history_query *query)
{
    struct history_output *output = calloc(1, sizeof(*output));

    if (!output)
        return NULL;
    output->format = format;
    output->guest = guest;
    output->query = *query;
    if (format == SHOW_CSV)
        csv_heading(csv_names);
    if (format == SHOW_TABLE && !(output->table = table_new(columns, N_COLUMNS))) {
        free(output);
        return NULL;
    }
    return output;
}

static int add_row(const struct history_output *output, const struct history_point *point)
{
    char cell[N_COLUMNS][256];
    const char *cells[N_COLUMNS];
    const size_t size = sizeof(cell[0]);

    show_time(cell[0], size, point->time_s, 0);
    show_seconds(cell[1], size, point->est_window_s);
    show_bytes(cell[2], size, point->wss_bytes);
    show_error(cell[3], size, point->wss_bytes, point->wss_low_bytes, point->wss_high_bytes);
    show_bytes(cell[4], size, point->wss_min_bytes);
    show_bytes(cell[5], size, point->wss_p95_bytes);
    show_bytes(cell[6], size, point->wss_max_bytes);
    show_bytes(cell[7], size, point->resident_bytes);
    show_bytes(cell[8], size, point->ram_bytes);
    snprintf(cell[9], size, "%llu", (unsigned long long)point->records);
    snprintf(cell[10], size, "%s", point->method);
    word_bytes_text(cell[11], size,
                    point->guest.source == WORD_NONE ? AGENT_UNKNOWN
                                                     : point->guest.available_bytes);
    word_share_text(cell[12], size, point->guest.source == WORD_NONE ? NAN : point->guest.psi_some);
    word_verdict_text(cell[13], size, &point->guest);
    snprintf(cell[14], size, "%s", point->flags);
    for (size_t i = 0; i < N_COLUMNS; i++)
        cells[i] = cell[i];
    return table_row(output->table, cells);
}

static void csv_bytes(struct csv *csv, uint64_t bytes)
{
    if (bytes == AGENT_UNKNOWN)
        csv_nothing(csv);
    else
        csv_whole(csv, bytes);
}

static void csv_real(struct csv *csv, double value)
{
    if (isfinite(value))
        csv_number(csv, value);
    else
        csv_nothing(csv);
}

static void csv_word(struct csv *csv, const struct guest_word *word)
{
    const char *missing = word->missing;
    struct guest_word none;

    if (word->source == WORD_NONE) {
        guest_word_none(&none, "%s", "");
        word = &none;
    }
    csv_text(csv, word_source_name(word->source));
    csv_bytes(csv, word->used_bytes);
    csv_bytes(csv, word->available_bytes);
    csv_real(csv, word->psi_some);
    csv_real(csv, word->psi_full);
    csv_real(csv, word->swap_in_bytes_s);
    csv_real(csv, word->refault_bytes_s);
    csv_bytes(csv, word->cache_warm_bytes);
    csv_bytes(csv, word->cache_cold_bytes);
    csv_real(csv, word->own_window_s);
    csv_bytes(csv, word->own_anon_bytes);
    csv_bytes(csv, word->own_file_bytes);
    csv_text(csv, word_verdict_name(word->verdict));
    csv_real(csv, word->agreement);
    csv_text(csv, missing);
}

static void print_csv(const struct history_output *output, const struct history_point *point)
{
    struct csv csv = {0};
    char time[40];

    csv_text(&csv, show_time(time, sizeof(time), point->time_s, 3));
    csv_text(&csv, output->guest->host);
    csv_text(&csv, output->guest->name);
    csv_text(&csv, output->guest->uuid);
    csv_text(&csv, level_name(output->query.level_s));
    csv_whole(&csv, point->records);
    csv_number(&csv, point->period_s);
    csv_number(&csv, output->query.window_s);
    csv_number(&csv, point->est_window_s);
    csv_whole(&csv, point->wss_bytes);
    csv_whole(&csv, point->wss_low_bytes);
    csv_whole(&csv, point->wss_high_bytes);
    csv_whole(&csv, point->wss_min_bytes);
    csv_whole(&csv, point->wss_p95_bytes);
    csv_whole(&csv, point->wss_max_bytes);
    csv_whole(&csv, point->ram_bytes);
    csv_whole(&csv, point->resident_bytes);
    csv_whole(&csv, point->unmeasurable_bytes);
    csv_number(&csv, point->precision);
    csv_number(&csv, point->cpu_s);
    csv_text(&csv, point->method);
    csv_text(&csv, point->flags);
    csv_word(&csv, &point->guest);
    csv_end(&csv);
}

static json_t *flags_json(const char *flags)
{
    json_t *array = json_array();
    char copy[256];
    char *rest = NULL;

    snprintf(copy, sizeof(copy), "%s", flags);
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        json_array_append_new(array, json_text(name));
    return array;
}

static void set_bytes(json_t *object, const char *key, uint64_t bytes)
{
    json_object_set_new(object, key, json_integer((json_int_t)bytes));
}

static int print_json(const struct history_output *output, const struct history_point *point)
{
    json_t *object = json_object();
    char time[40];

    json_object_set_new(object, "schema", json_string("vmwss.history.v1"));
    json_object_set_new(object, "time",
                        json_string(show_time(time, sizeof(time), point->time_s, 3)));
    json_object_set_new(object, "host", json_text(output->guest->host));
    json_object_set_new(object, "domain", json_text(output->guest->name));
    json_object_set_new(object, "uuid", json_text(output->guest->uuid));
    json_object_set_new(object, "level", json_string(level_name(output->query.level_s)));
    set_bytes(object, "records", point->records);
    json_object_set_new(object, "period_seconds", json_real(point->period_s));
    json_object_set_new(object, "window_s", json_real(output->query.window_s));
    json_object_set_new(object, "est_window_s", json_real(point->est_window_s));
    set_bytes(object, "wss_bytes", point->wss_bytes);
    set_bytes(object, "wss_low_bytes", point->wss_low_bytes);
    set_bytes(object, "wss_high_bytes", point->wss_high_bytes);
    set_bytes(object, "wss_min_bytes", point->wss_min_bytes);
    set_bytes(object, "wss_p95_bytes", point->wss_p95_bytes);
    set_bytes(object, "wss_max_bytes", point->wss_max_bytes);
    set_bytes(object, "ram_bytes", point->ram_bytes);
    set_bytes(object, "resident_bytes", point->resident_bytes);
    set_bytes(object, "unmeasurable_bytes", point->unmeasurable_bytes);
    json_object_set_new(object, "precision", json_real(point->precision));
    json_object_set_new(object, "cpu_seconds", json_real(point->cpu_s));
    json_object_set_new(object, "method", json_text(point->method));
    json_object_set_new(object, "flags", flags_json(point->flags));
    if (word_was_asked(&point->guest))
        json_object_set_new(object, "guest", word_json(&point->guest));
    return json_print_line(object);
}

int history_output_point(struct history_output *output, const struct history_point *point)
{
    output->words = output->words || word_was_asked(&point->guest);
    snprintf(output->missing, sizeof(output->missing), "%s", point->guest.missing);
    switch (output->format) {
    case SHOW_JSON:
        return print_json(output, point);
    case SHOW_CSV:
        print_csv(output, point);
        return 0;
    default:
        return add_row(output, point);
    }
}

void history_output_end(struct history_output *output)
{
    if (!output)
        return;
    for (size_t c = WORD_COLUMNS_FIRST; output->table && !output->words && c <= WORD_COLUMNS_LAST;
         c++)
        table_hide(output->table, c);
    if (output->table)
        table_print(output->table, true);
    utf8_printable(output->missing);
    if (output->table && *output->missing)
        printf("The guest says nothing: %s.\n", output->missing);
    table_free(output->table);
    free(output);
}
