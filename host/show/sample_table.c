// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/sample_table.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/guest_stats.h"
#include "show/note.h"
#include "show/sheet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

size_t sample_choose_windows(const struct sample_record *record,
                             double window_s[SAMPLE_COLUMN_WINDOWS])
{
    const size_t last = record->n_windows - 1;
    const size_t n = record->n_windows < SAMPLE_COLUMN_WINDOWS ? record->n_windows
                                                               : SAMPLE_COLUMN_WINDOWS;

    for (size_t i = 0; i < n; i++)
        window_s[i] = record->windows[n == 1 ? 0 : i * last / (n - 1)].window_s;
    return n;
}

uint64_t window_half_width(const struct window_record *window)
{
    uint64_t up = window->wss_high_bytes - window->wss_bytes;
    uint64_t down = window->wss_bytes - window->wss_low_bytes;

    return up > down ? up : down;
}

double window_share(const struct sample_record *record, const struct window_record *window)
{
    if (record->resident_bytes == 0 || window->wss_bytes > record->resident_bytes)
        return NAN;
    return (double)window->wss_bytes / (double)record->resident_bytes;
}

char *window_share_text(char *text, size_t size, const struct sample_record *record,
                        const struct window_record *window)
{
    const double share = window_share(record, window);

    snprintf(text, size, isnan(share) ? "-" : "%.1f%%", 100 * share);
    return text;
}

void sample_name(char *text, size_t size, const struct sample_record *record)
{
    if (*record->domain)
        snprintf(text, size, "%s", record->domain);
    else
        snprintf(text, size, "pid %d", record->pid);
    utf8_end(text);
    utf8_printable(text);
}

void sample_method(char *text, size_t size, const struct sample_record *record)
{
    if (record->census)
        snprintf(text, size, "%s census", record->method);
    else
        snprintf(text, size, "%s n=%llu", record->method, (unsigned long long)record->samples);
}

void sample_subtitle(char *text, size_t size, const struct sample_record *record)
{
    const char *flags = SAMPLE_FLAGS(record->flags);
    char method[64];

    sample_method(method, sizeof(method), record);
    snprintf(text, size, "%s resident of %s, %s, %s%s%s", BYTES_TEXT(record->resident_bytes),
             BYTES_TEXT(record->ram_bytes), accel_name(record->accel), method, *flags ? ", " : "",
             flags);
}

void sample_picture_subtitle(char *text, size_t size, const struct sample_record *record)
{
    char host[sizeof(record->host)];
    char rest[400];

    sample_subtitle(rest, sizeof(rest), record);
    snprintf(text, size, "%s, %s: %s", utf8_printable_copy(host, sizeof(host), record->host),
             TIME_TEXT(timespec_s(&record->time), 0), rest);
}

void sample_head_print(const struct sample_record *record)
{
    char name[300];
    char text[400];

    sample_name(name, sizeof(name), record);
    sample_subtitle(text, sizeof(text), record);
    note("%s: %s; vCPUs ran %.2fs, CPU time of this measurement %.3fs\n", name, text,
         record->vcpu_s, record->cpu_s);
}

/* --- the table -------------------------------------------------------------------------------- */

#define DATE 11 /* "2026-01-02T" */

static const struct sheet_column columns[] = {
    {"domain", {.name = "DOMAIN", .cut = true, .width = 24}},
    {"window", {.name = "WINDOW", .right = true, .width = 6}},
    {"est", {.name = "EST", .right = true, .rank = 7, .width = 7}},
    {"wss", {.name = "WSS", .right = true, .width = 10}},
    {"error", {.name = "±", .right = true, .rank = 1, .width = 10}},
    {"touched", {.name = "TOUCHED", .right = true, .rank = 6, .width = 7}},
    {"resident", {.name = "RESIDENT", .right = true, .rank = 4, .width = 10}},
    {"ram", {.name = "RAM", .right = true, .rank = 5, .width = 10}},
    {"vcpu", {.name = "VCPU", .right = true, .rank = 10, .width = 7}},
    {"method", {.name = "METHOD", .rank = 9, .width = 12}},
    {"age", {.name = "AGE", .right = true, .rank = 3}},
    {"time", {.name = "TIME", .right = true, .rank = 2, .width = 9}},
    {"available", {.name = "GUEST AVAIL", .right = true, .rank = 8, .width = 11}},
    {"needs", {.name = "NEEDS", .rank = 8, .width = 5}},
    {"flags", {.name = "FLAGS", .last = true, .rank = 3, .width = 16}},
};
#define N_COLUMNS COUNT(columns)

/* Begins a row with all cells set to @p unknown. */
static void begin_row(struct sheet *sheet, const char *unknown, const struct sample_record *record)
{
    char name[300];

    sheet_row(sheet);
    for (size_t c = 0; c < N_COLUMNS; c++)
        sheet_cell(sheet, columns[c].key, "%s", unknown);
    sample_name(name, sizeof(name), record);
    sheet_cell(sheet, "domain", "%s", name);
}

static void fill_wss(struct sheet *sheet, double est_window_s, uint64_t bytes, uint64_t low,
                     uint64_t high)
{
    sheet_cell(sheet, "est", "%.2fs", est_window_s);
    sheet_cell_bytes(sheet, "wss", (double)bytes);
    sheet_cell(sheet, "error", "%s", ERROR_TEXT(bytes, low, high));
}

static void fill_window_length(struct sheet *sheet, double window_s)
{
    sheet_cell(sheet, "window", "%s", SECONDS_TEXT(window_s));
}

/* Shows only the time of day if the date is today. */
static void fill_time(struct sheet *sheet, const struct timespec *time)
{
    const double now_s = clock_s(CLOCK_REALTIME);
    char now[40];
    char text[40];

    show_time(now, sizeof(now), now_s, 0);
    show_time(text, sizeof(text), timespec_s(time), 0);
    sheet_cell(sheet, "time", "%s", text + (strncmp(now, text, DATE) == 0 ? DATE : 0));
    sheet_cell(sheet, "age", "%s",
               show_seconds(text, sizeof(text), (double)(long)(now_s - timespec_s(time))));
}

static void fill_record(struct sheet *sheet, const struct sample_record *record)
{
    sheet_cell_bytes(sheet, "resident", (double)record->resident_bytes);
    sheet_cell_bytes(sheet, "ram", (double)record->ram_bytes);
    sheet_cell(sheet, "method", "%s", record->method);
    fill_time(sheet, &record->time);
    sheet_cell(sheet, "flags", "%s", SAMPLE_FLAGS(record->flags));
}

static void fill_window(struct sheet *sheet, const struct sample_record *record,
                        const struct window_record *window)
{
    const struct guest_stats *stats = &record->guest;
    char text[256];

    begin_row(sheet, "-", record);
    fill_record(sheet, record);
    fill_window_length(sheet, window->window_s);
    fill_wss(sheet, window->est_window_s, window->wss_bytes, window->wss_low_bytes,
             window->wss_high_bytes);
    sheet_cell(sheet, "touched", "%s", window_share_text(text, sizeof(text), record, window));
    sheet_cell(sheet, "vcpu", "%.2fs", record->vcpu_s);
    sample_method(text, sizeof(text), record);
    sheet_cell(sheet, "method", "%s", text);
    guest_stats_bytes_text(text, sizeof(text),
                           stats->source == GUEST_STATS_NONE ? AGENT_UNKNOWN
                                                             : stats->available_bytes);
    sheet_cell(sheet, "available", "%s", text);
    guest_stats_verdict_text(text, sizeof(text), stats);
    sheet_cell(sheet, "needs", "%s", text);
}

static void fill_writes(struct sheet *sheet, const struct sample_record *record,
                        const struct write_point *point)
{
    const double share = record->resident_bytes > 0
                             ? (double)point->bytes / (double)record->resident_bytes
                             : 0;

    begin_row(sheet, "-", record);
    fill_record(sheet, record);
    fill_window_length(sheet, point->window_s);
    fill_wss(sheet, point->est_window_s, point->bytes, point->low_bytes, point->high_bytes);
    if (share > 0 && share <= 1)
        sheet_cell(sheet, "touched", "%.1f%%", 100 * share);
    sheet_cell(sheet, "vcpu", "%.2fs", record->vcpu_s);
    sheet_cell(sheet, "method", "%s", record->writes.method);
    sheet_cell(sheet, "flags", "%s", SAMPLE_FLAGS(record->writes.flags));
}

static void fill_fine(struct sheet *sheet, const struct sample_record *record)
{
    const struct fine_record *fine = &record->fine;

    begin_row(sheet, "", record);
    fill_window_length(sheet, fine->window_s);
    fill_wss(sheet, fine->est_window_s, fine->wss_bytes, fine->wss_low_bytes, fine->wss_high_bytes);
    sheet_cell(sheet, "method", "fine, %llu huge pages split%s",
               (unsigned long long)fine->huge_pages_sampled,
               fine->huge_pages_not_joined ? ", some not joined" : "");
}

/* Sets fixed widths for a series on a terminal: each record of a series is a separate table, and
 * columns as wide as their cells would not align. Names the columns of the write working set. */
static void make_columns(struct sheet_column made[N_COLUMNS], bool series, bool writes)
{
    memcpy(made, columns, sizeof(columns));
    for (size_t c = 0; c < N_COLUMNS; c++) {
        if (!series || !isatty(STDOUT_FILENO))
            made[c].head.width = 0;
        if (writes && (!strcmp(made[c].key, "wss") || !strcmp(made[c].key, "touched")))
            made[c].head.name = *made[c].key == 'w' ? "WRITTEN" : "OF RES.";
    }
}

static void print_rows(const struct sample_record *record, bool heading, bool series, bool writes)
{
    struct sheet_column made[N_COLUMNS];
    struct sheet sheet;

    make_columns(made, series, writes);
    sheet_begin(&sheet, SHOW_TABLE, NULL, NULL);
    sheet.no_heading = !heading;
    sheet_list(&sheet, NULL, made, N_COLUMNS);
    for (size_t w = 0; !writes && w < record->n_windows; w++)
        fill_window(&sheet, record, &record->windows[w]);
    for (size_t i = 0; writes && i < record->writes.n; i++)
        fill_writes(&sheet, record, &record->writes.points[i]);
    if (record->flags & FLAG_NOT_MEASURED) {
        begin_row(&sheet, "-", record);
        fill_record(&sheet, record);
    }
    if (!writes && record->fine.present)
        fill_fine(&sheet, record);
    sheet_hide(&sheet, series ? "age" : "time");
    if (!guest_stats_requested(&record->guest)) {
        sheet_hide(&sheet, "available");
        sheet_hide(&sheet, "needs");
    }
    sheet_close(&sheet);
    sheet_end(&sheet);
}

/* The working set and the write working set have a table each, since their columns differ in name.
 * A series has only the first: its next record has no heading. */
static void print_record(const struct sample_record *record, bool heading, bool series)
{
    const bool touched = record->n_windows > 0 || record->writes.n == 0;

    if (touched)
        print_rows(record, heading, series, false);
    if (record->writes.n == 0 || (touched && series))
        return;
    if (touched)
        putchar('\n');
    print_rows(record, heading || touched, series, true);
}

void sample_table_print(const struct sample_record *record, bool heading)
{
    print_record(record, heading, false);
}

void sample_table_print_series(const struct sample_record *record, bool heading)
{
    print_record(record, heading, true);
}
