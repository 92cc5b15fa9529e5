// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file history.c  See history.h. */
#include "show/history.h"

#include "base/text/csv.h"
#include "base/text/json.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/field_json.h"
#include "show/guest_stats.h"
#include "show/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The content of one line or one object: a point, and the common data of all points. */
struct history_row {
    char time[40];
    char host[sizeof(((struct history_guest *)NULL)->host)];
    char name[sizeof(((struct history_guest *)NULL)->name)];
    char uuid[sizeof(((struct history_guest *)NULL)->uuid)];
    char level[8];
    double window_s;
    struct history_point point;
};

struct history_output {
    enum show_format format;
    struct history_row row;
    struct table *table;
    bool has_stats; /* the guest was asked at some time */
    /* why it reported nothing at the last time; "": it did report */
    char unavailable[GUEST_STATS_REASON_TEXT];
};

/* --- CSV and JSON ----------------------------------------------------------------------------- */

#define AT(member) .offset = offsetof(struct history_row, member)
#define TEXT(member) FIELD_TEXT, AT(member), .size = sizeof(((struct history_row *)NULL)->member)
#define REAL(member) FIELD_REAL, AT(member)
#define U64(member) FIELD_U64, AT(member)

/* A row's own fields; the fields of a record follow: measure/record/field.h. */
static const struct field row_fields[] = {
    {TEXT(time), .csv = "time"},
    {TEXT(host), .csv = "host"},
    {TEXT(name), .csv = "domain"},
    {TEXT(uuid), .csv = "uuid"},
    {TEXT(level), .csv = "level"},
    {U64(point.records), .csv = "records"},
    {REAL(point.period_s), .csv = "period_seconds"},
    {REAL(window_s), .csv = "window_s"},
    {REAL(point.est_window_s), .csv = "est_window_s"},
    {U64(point.wss_bytes), .csv = "wss_bytes"},
    {U64(point.wss_low_bytes), .csv = "wss_low_bytes"},
    {U64(point.wss_high_bytes), .csv = "wss_high_bytes"},
    {U64(point.wss_min_bytes), .csv = "wss_min_bytes"},
    {U64(point.wss_p95_bytes), .csv = "wss_p95_bytes"},
    {U64(point.wss_max_bytes), .csv = "wss_max_bytes"},
    {.type = FIELD_END},
};
static const enum field_group record_groups[] = {GROUP_SIZE, GROUP_PANEL, GROUP_COST, GROUP_METHOD,
                                                 GROUP_FLAGS};
static const enum field_group guest_stats_groups[] = {GROUP_SOURCE,     GROUP_MEMORY, GROUP_RATES,
                                                      GROUP_CACHE,      GROUP_OWN,    GROUP_VERDICT,
                                                      GROUP_UNAVAILABLE};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef void (*put_value)(void *context, const char *name, const struct field_value *value);

static void walk_row(const struct history_row *row, put_value put, void *context)
{
    struct field_value value;

    for (const struct field *field = row_fields; field->type; field++) {
        field_get(field, row, &value);
        put(context, field->csv, &value);
    }
    for (size_t g = 0; g < COUNT(record_groups); g++)
        for (const struct field *field = field_of_group(sample_fields(), record_groups[g]); field;
             field = field_next_of_group(field)) {
            if (!field->csv)
                continue;
            field_get_summary(field, &row->point.summary, &value);
            put(context, field->csv, &value);
        }
}

static void walk_guest_stats(const struct guest_stats *stats, put_value put, void *context)
{
    struct field_value value;
    struct guest_stats none;

    if (stats->source == GUEST_STATS_NONE) {
        guest_stats_unavailable(&none, "%s", stats->unavailable);
        stats = &none;
    }
    for (size_t g = 0; g < COUNT(guest_stats_groups); g++)
        for (const struct field *field =
                 field_of_group(guest_stats_fields(), guest_stats_groups[g]);
             field; field = field_next_of_group(field)) {
            if (!field->csv)
                continue;
            field_get(field, stats, &value);
            put(context, field->csv, &value);
        }
}

static void put_csv_name(void *csv, const char *name, const struct field_value *value)
{
    (void)value;
    csv_text(csv, name);
}

static void put_csv(void *csv, const char *name, const struct field_value *value)
{
    (void)name;
    switch (value->kind) {
    case VALUE_WHOLE:
        csv_whole(csv, value->whole);
        break;
    case VALUE_REAL:
        csv_number(csv, value->real);
        break;
    case VALUE_TEXT:
    case VALUE_SET:
        csv_text(csv, value->text);
        break;
    default:
        csv_nothing(csv);
    }
}

static void print_csv(const struct history_row *row, put_value put)
{
    struct csv csv = {0};

    walk_row(row, put, &csv);
    walk_guest_stats(&row->point.guest, put, &csv);
    csv_end(&csv);
}

static void put_json(void *object, const char *name, const struct field_value *value)
{
    json_object_set_new(object, name, value_json(value, 0));
}

static int print_json(const struct history_row *row)
{
    json_t *object = json_object();

    json_object_set_new(object, "schema", json_string("vmwss.history.v1"));
    walk_row(row, put_json, object);
    if (guest_stats_requested(&row->point.guest))
        json_object_set_new(object, "guest", guest_stats_json(&row->point.guest));
    return json_print_line(object);
}

/* --- the table for people --------------------------------------------------------------------- */

#define CELL_MAX 256

static void cell_time(char *text, const struct history_point *point)
{
    show_time(text, CELL_MAX, point->time_s, 0);
}

static void cell_est(char *text, const struct history_point *point)
{
    show_seconds(text, CELL_MAX, point->est_window_s);
}

static void cell_wss(char *text, const struct history_point *point)
{
    show_bytes(text, CELL_MAX, point->wss_bytes);
}

static void cell_error(char *text, const struct history_point *point)
{
    show_error(text, CELL_MAX, point->wss_bytes, point->wss_low_bytes, point->wss_high_bytes);
}

static void cell_min(char *text, const struct history_point *point)
{
    show_bytes(text, CELL_MAX, point->wss_min_bytes);
}

static void cell_p95(char *text, const struct history_point *point)
{
    show_bytes(text, CELL_MAX, point->wss_p95_bytes);
}

static void cell_max(char *text, const struct history_point *point)
{
    show_bytes(text, CELL_MAX, point->wss_max_bytes);
}

static void cell_resident(char *text, const struct history_point *point)
{
    show_bytes(text, CELL_MAX, (uint64_t)point->summary.resident_bytes);
}

static void cell_ram(char *text, const struct history_point *point)
{
    show_bytes(text, CELL_MAX, (uint64_t)point->summary.ram_bytes);
}

static void cell_records(char *text, const struct history_point *point)
{
    snprintf(text, CELL_MAX, "%llu", (unsigned long long)point->records);
}

static void cell_method(char *text, const struct history_point *point)
{
    snprintf(text, CELL_MAX, "%s", point->summary.method);
}

static void cell_avail(char *text, const struct history_point *point)
{
    bool reported = point->guest.source != GUEST_STATS_NONE;

    guest_stats_bytes_text(text, CELL_MAX, reported ? point->guest.available_bytes : AGENT_UNKNOWN);
}

static void cell_psi(char *text, const struct history_point *point)
{
    bool reported = point->guest.source != GUEST_STATS_NONE;

    guest_stats_share_text(text, CELL_MAX, reported ? point->guest.psi_some : NAN);
}

static void cell_needs(char *text, const struct history_point *point)
{
    guest_stats_verdict_text(text, CELL_MAX, &point->guest);
}

static void cell_flags(char *text, const struct history_point *point)
{
    sample_flags_text(text, CELL_MAX, point->summary.flags);
}

static const struct {
    struct table_column head;
    void (*text)(char *text, const struct history_point *point);
    bool of_guest_stats; /* only shown if the guest was asked */
} columns[] = {
    {.head = {.name = "TIME"}, .text = cell_time},
    {.head = {.name = "EST", .right = true, .rank = 9}, .text = cell_est},
    {.head = {.name = "WSS", .right = true}, .text = cell_wss},
    {.head = {.name = "±", .right = true, .rank = 1}, .text = cell_error},
    {.head = {.name = "MIN", .right = true, .rank = 8}, .text = cell_min},
    {.head = {.name = "P95", .right = true, .rank = 3}, .text = cell_p95},
    {.head = {.name = "MAX", .right = true, .rank = 2}, .text = cell_max},
    {.head = {.name = "RESIDENT", .right = true, .rank = 5}, .text = cell_resident},
    {.head = {.name = "RAM", .right = true, .rank = 7}, .text = cell_ram},
    {.head = {.name = "RECORDS", .right = true, .rank = 10}, .text = cell_records},
    {.head = {.name = "METHOD", .rank = 11}, .text = cell_method},
    {.head = {.name = "GUEST AVAIL", .right = true, .rank = 6},
     .text = cell_avail,
     .of_guest_stats = true},
    {.head = {.name = "PSI", .right = true, .rank = 6}, .text = cell_psi, .of_guest_stats = true},
    {.head = {.name = "NEEDS", .rank = 4}, .text = cell_needs, .of_guest_stats = true},
    {.head = {.name = "FLAGS", .last = true, .rank = 4}, .text = cell_flags},
};
#define N_COLUMNS COUNT(columns)

static struct table *make_table(void)
{
    struct table_column heads[N_COLUMNS];

    for (size_t i = 0; i < N_COLUMNS; i++)
        heads[i] = columns[i].head;
    return table_new(heads, N_COLUMNS);
}

static int add_row(const struct history_output *output, const struct history_point *point)
{
    char cell[N_COLUMNS][CELL_MAX];
    const char *cells[N_COLUMNS];

    for (size_t i = 0; i < N_COLUMNS; i++) {
        columns[i].text(cell[i], point);
        cells[i] = cell[i];
    }
    return table_row(output->table, cells);
}

/* --- together --------------------------------------------------------------------------------- */

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
    snprintf(output->row.host, sizeof(output->row.host), "%s", guest->host);
    snprintf(output->row.name, sizeof(output->row.name), "%s", guest->name);
    snprintf(output->row.uuid, sizeof(output->row.uuid), "%s", guest->uuid);
    snprintf(output->row.level, sizeof(output->row.level), "%s", level_name(query->level_s));
    output->row.window_s = query->window_s;
    if (format == SHOW_CSV)
        print_csv(&output->row, put_csv_name);
    if (format == SHOW_TABLE && !(output->table = make_table())) {
        free(output);
        return NULL;
    }
    return output;
}

int history_output_point(struct history_output *output, const struct history_point *point)
{
    output->has_stats = output->has_stats || guest_stats_requested(&point->guest);
    snprintf(output->unavailable, sizeof(output->unavailable), "%s", point->guest.unavailable);
    output->row.point = *point;
    show_time(output->row.time, sizeof(output->row.time), point->time_s, 3);
    switch (output->format) {
    case SHOW_JSON:
        return print_json(&output->row);
    case SHOW_CSV:
        print_csv(&output->row, put_csv);
        return 0;
    default:
        return add_row(output, point);
    }
}

void history_output_end(struct history_output *output)
{
    if (!output)
        return;
    for (size_t i = 0; output->table && !output->has_stats && i < N_COLUMNS; i++)
        if (columns[i].of_guest_stats)
            table_hide(output->table, i);
    if (output->table)
        table_print(output->table, true);
    utf8_printable(output->unavailable);
    if (output->table && *output->unavailable)
        printf("The guest says nothing: %s.\n", output->unavailable);
    table_free(output->table);
    free(output);
}
