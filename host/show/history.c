// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/history.h"

#include "base/text/units.h"
#include "base/utf8.h"
#include "show/field_json.h"
#include "show/guest_stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct history_output {
    struct sheet sheet;
    struct history_guest guest;
    int level_s;
    double window_s;
    /* names of the CSV fields: the row's own, then a record's, then the guest's */
    const char *csv[SHEET_CELLS];
    const struct field *of_record[SHEET_CELLS], *of_guest[SHEET_CELLS];
    bool has_stats; /* the guest was queried at some time */
    /* why the last query returned no report; "": it returned one */
    char unavailable[GUEST_STATS_REASON_TEXT];
};

/* --- fields ----------------------------------------------------------------------------------- */

static const char *const row_names[] = {
    "time",          "host",           "domain",        "uuid",          "level",
    "records",       "period_seconds", "window_s",      "est_window_s",  "wss_bytes",
    "wss_low_bytes", "wss_high_bytes", "wss_min_bytes", "wss_p95_bytes", "wss_max_bytes"};
/* The fields of a record: measure/record/field.h. */
static const enum field_group record_groups[] = {GROUP_SIZE, GROUP_PANEL, GROUP_COST, GROUP_METHOD,
                                                 GROUP_FLAGS};
static const enum field_group guest_stats_groups[] = {GROUP_SOURCE,     GROUP_MEMORY, GROUP_RATES,
                                                      GROUP_CACHE,      GROUP_OWN,    GROUP_VERDICT,
                                                      GROUP_UNAVAILABLE};

/* Lists the fields of @p groups that are in CSV, and adds their names to @p names. */
static void list_fields(const struct field **list, const char ***names, const struct field *table,
                        const enum field_group *groups, size_t n_groups)
{
    for (size_t g = 0; g < n_groups; g++)
        for (const struct field *field = field_of_group(table, groups[g]); field;
             field = field_next_of_group(field))
            if (field->csv) {
                *list++ = field;
                *(*names)++ = field->csv;
            }
}

static void list_all_fields(struct history_output *output)
{
    const char **names = output->csv;

    for (size_t i = 0; i < COUNT(row_names); i++)
        *names++ = row_names[i];
    list_fields(output->of_record, &names, sample_fields(), record_groups, COUNT(record_groups));
    list_fields(output->of_guest, &names, guest_stats_fields(), guest_stats_groups,
                COUNT(guest_stats_groups));
}

/* Omits an unknown value. */
static void set_value(struct sheet *sheet, const struct field *field,
                      const struct field_value *value)
{
    json_t *json = value_json(value, 0);

    if (json)
        sheet_json(sheet, field->csv, json);
}

/* --- rows ------------------------------------------------------------------------------------- */

static const struct sheet_column columns[] = {
    {"time", {.name = "TIME"}},
    {"est_window_s", {.name = "EST", .right = true, .rank = 9}},
    {"wss_bytes", {.name = "WSS", .right = true}},
    {"error", {.name = "±", .right = true, .rank = 1}},
    {"wss_min_bytes", {.name = "MIN", .right = true, .rank = 8}},
    {"wss_p95_bytes", {.name = "P95", .right = true, .rank = 3}},
    {"wss_max_bytes", {.name = "MAX", .right = true, .rank = 2}},
    {"resident", {.name = "RESIDENT", .right = true, .rank = 5}},
    {"ram", {.name = "RAM", .right = true, .rank = 7}},
    {"records", {.name = "RECORDS", .right = true, .rank = 10}},
    {"shown_method", {.name = "METHOD", .rank = 11}},
    {"avail", {.name = "GUEST AVAIL", .right = true, .rank = 6}},
    {"psi", {.name = "PSI", .right = true, .rank = 6}},
    {"needs", {.name = "NEEDS", .rank = 4}},
    {"shown_flags", {.name = "FLAGS", .last = true, .rank = 4}},
};
/* The columns of guest statistics. */
static const char *const guest_columns[] = {"avail", "psi", "needs"};

static const char *level_name(int level_s)
{
    if (level_s == 0)
        return "record";
    return level_s == BUCKET_MINUTE ? "minute" : "hour";
}

static void fill_record(struct history_output *output, const struct record_summary *summary)
{
    struct sheet *sheet = &output->sheet;
    struct field_value value;

    for (size_t i = 0; output->of_record[i]; i++) {
        field_get_summary(output->of_record[i], summary, &value);
        set_value(sheet, output->of_record[i], &value);
    }
    sheet_cell_bytes(sheet, "resident", summary->resident_bytes);
    sheet_cell_bytes(sheet, "ram", summary->ram_bytes);
    sheet_cell(sheet, "shown_method", "%s", summary->method);
    sheet_cell(sheet, "shown_flags", "%s", SAMPLE_FLAGS(summary->flags));
}

/* Sets the CSV fields for which JSON has an object. */
static void fill_guest_fields(struct history_output *output, const struct guest_stats *stats)
{
    struct field_value value;
    struct guest_stats none;

    if (stats->source == GUEST_STATS_NONE) {
        guest_stats_unavailable(&none, "%s", stats->unavailable);
        stats = &none;
    }
    for (size_t i = 0; output->of_guest[i]; i++) {
        field_get(output->of_guest[i], stats, &value);
        set_value(&output->sheet, output->of_guest[i], &value);
    }
}

static void fill_guest_stats(struct history_output *output, const struct guest_stats *stats)
{
    struct sheet *sheet = &output->sheet;
    const bool reported = stats->source != GUEST_STATS_NONE;
    char text[64];

    if (sheet->format == SHOW_CSV)
        fill_guest_fields(output, stats);
    else if (guest_stats_requested(stats))
        sheet_json(sheet, "guest", guest_stats_json(stats));
    sheet_cell(sheet, "avail", "%s",
               GUEST_STATS_BYTES(reported ? stats->available_bytes : AGENT_UNKNOWN));
    sheet_cell(sheet, "psi", "%s", GUEST_STATS_SHARE(reported ? stats->psi_some : NAN));
    sheet_cell(sheet, "needs", "%s", guest_stats_verdict_text(text, sizeof(text), stats));
}

void history_output_point(struct history_output *output, const struct history_point *point)
{
    struct sheet *sheet = &output->sheet;

    output->has_stats = output->has_stats || guest_stats_requested(&point->guest);
    snprintf(output->unavailable, sizeof(output->unavailable), "%s", point->guest.unavailable);
    sheet_row(sheet);
    sheet_time(sheet, "time", point->time_s, 3);
    sheet_guest(sheet, output->guest.host, output->guest.name, output->guest.uuid);
    sheet_text(sheet, "level", level_name(output->level_s));
    sheet_count(sheet, "records", point->records);
    sheet_real(sheet, "period_seconds", point->period_s);
    sheet_real(sheet, "window_s", output->window_s);
    sheet_seconds(sheet, "est_window_s", point->est_window_s);
    sheet_bytes(sheet, "wss_bytes", point->wss_bytes);
    sheet_bytes(sheet, "wss_low_bytes", point->wss_low_bytes);
    sheet_bytes(sheet, "wss_high_bytes", point->wss_high_bytes);
    sheet_bytes(sheet, "wss_min_bytes", point->wss_min_bytes);
    sheet_bytes(sheet, "wss_p95_bytes", point->wss_p95_bytes);
    sheet_bytes(sheet, "wss_max_bytes", point->wss_max_bytes);
    sheet_cell(sheet, "error", "%s",
               ERROR_TEXT(point->wss_bytes, point->wss_low_bytes, point->wss_high_bytes));
    fill_record(output, &point->summary);
    fill_guest_stats(output, &point->guest);
}

/* --- the history ------------------------------------------------------------------------------ */

struct history_output *history_output_new(enum show_format format,
                                          const struct history_guest *guest,
                                          const struct history_query *query)
{
    struct history_output *output = calloc(1, sizeof(*output));

    if (!output)
        return NULL;
    output->guest = *guest;
    output->level_s = query->level_s;
    output->window_s = query->window_s;
    list_all_fields(output);
    sheet_begin(&output->sheet, format, "vmwss.history.v1", output->csv);
    sheet_list(&output->sheet, NULL, columns, COUNT(columns));
    return output;
}

int history_output_end(struct history_output *output)
{
    struct sheet *sheet = &output->sheet;
    int rc;

    for (size_t i = 0; !output->has_stats && i < COUNT(guest_columns); i++)
        sheet_hide(sheet, guest_columns[i]);
    sheet_close(sheet);
    utf8_printable(output->unavailable);
    if (*output->unavailable)
        sheet_note(sheet, "The guest says nothing: %s.", output->unavailable);
    rc = sheet_end(sheet);
    free(output);
    return rc;
}
