// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_table.c  See sample_table.h. */
#include "show/sample_table.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/guest_stats.h"
#include "show/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static double age_s(const struct timespec *time)
{
    return clock_s(CLOCK_REALTIME) - timespec_s(time);
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
    char resident[32];
    char ram[32];
    char method[64];
    char flags[SAMPLE_FLAGS_TEXT];

    sample_method(method, sizeof(method), record);
    sample_flags_text(flags, sizeof(flags), record->flags);
    snprintf(text, size, "%s resident of %s, %s, %s%s%s",
             show_bytes(resident, sizeof(resident), record->resident_bytes),
             show_bytes(ram, sizeof(ram), record->ram_bytes), accel_name(record->accel), method,
             *flags ? ", " : "", flags);
}

void sample_picture_subtitle(char *text, size_t size, const struct sample_record *record)
{
    char host[sizeof(record->host)];
    char time[40];
    char rest[400];

    sample_subtitle(rest, sizeof(rest), record);
    snprintf(text, size, "%s, %s: %s", utf8_printable_copy(host, sizeof(host), record->host),
             show_time(time, sizeof(time), timespec_s(&record->time), 0), rest);
}

void sample_head_print(const struct sample_record *record)
{
    char name[300];
    char text[400];

    sample_name(name, sizeof(name), record);
    sample_subtitle(text, sizeof(text), record);
    printf("%s: %s; vCPUs ran %.2fs, CPU time of this measurement %.3fs\n", name, text,
           record->vcpu_s, record->cpu_s);
}

/* --- the columns ------------------------------------------------------------------------------ */

#define CELL_MAX 256
#define DATE 11 /* "2026-01-02T" */

/* A row shows a window of the record, or one that --fine adds; or neither, if the guest is not
 * measured. */
struct row {
    const struct sample_record *record;
    const struct window_record *window;
    const struct fine_record *fine;
};

static void cell_domain(char *text, const struct row *row)
{
    sample_name(text, CELL_MAX, row->record);
}

static void cell_window(char *text, const struct row *row)
{
    show_seconds(text, CELL_MAX, row->fine ? row->fine->window_s : row->window->window_s);
}

static void cell_est(char *text, const struct row *row)
{
    snprintf(text, CELL_MAX, "%.2fs",
             row->fine ? row->fine->est_window_s : row->window->est_window_s);
}

static void cell_wss(char *text, const struct row *row)
{
    show_bytes(text, CELL_MAX, row->fine ? row->fine->wss_bytes : row->window->wss_bytes);
}

static void cell_error(char *text, const struct row *row)
{
    if (row->fine)
        show_error(text, CELL_MAX, row->fine->wss_bytes, row->fine->wss_low_bytes,
                   row->fine->wss_high_bytes);
    else
        show_error(text, CELL_MAX, row->window->wss_bytes, row->window->wss_low_bytes,
                   row->window->wss_high_bytes);
}

static void cell_touched(char *text, const struct row *row)
{
    window_share_text(text, CELL_MAX, row->record, row->window);
}

static void cell_resident(char *text, const struct row *row)
{
    show_bytes(text, CELL_MAX, row->record->resident_bytes);
}

static void cell_ram(char *text, const struct row *row)
{
    show_bytes(text, CELL_MAX, row->record->ram_bytes);
}

static void cell_vcpu(char *text, const struct row *row)
{
    snprintf(text, CELL_MAX, "%.2fs", row->record->vcpu_s);
}

static void cell_method(char *text, const struct row *row)
{
    if (row->fine)
        snprintf(text, CELL_MAX, "fine, %llu huge pages split%s",
                 (unsigned long long)row->fine->huge_pages_sampled,
                 row->fine->huge_pages_not_joined ? ", some not joined" : "");
    else if (row->window)
        sample_method(text, CELL_MAX, row->record);
    else
        snprintf(text, CELL_MAX, "%s", row->record->method);
}

static void cell_age(char *text, const struct row *row)
{
    show_seconds(text, CELL_MAX, age_s(&row->record->time));
}

/* Writes only the time of day if it is today. */
static void cell_time(char *text, const struct row *row)
{
    const struct timespec *time = &row->record->time;
    char now[40];

    show_time(now, sizeof(now), clock_s(CLOCK_REALTIME), 0);
    show_time(text, CELL_MAX, timespec_s(time), 0);
    if (strncmp(now, text, DATE) == 0)
        memmove(text, text + DATE, strlen(text + DATE) + 1);
}

static void cell_avail(char *text, const struct row *row)
{
    const struct guest_stats *stats = &row->record->guest;

    guest_stats_bytes_text(
        text, CELL_MAX, stats->source == GUEST_STATS_NONE ? AGENT_UNKNOWN : stats->available_bytes);
}

static void cell_needs(char *text, const struct row *row)
{
    guest_stats_verdict_text(text, CELL_MAX, &row->record->guest);
}

static void cell_flags(char *text, const struct row *row)
{
    sample_flags_text(text, CELL_MAX, row->record->flags);
}

/* The kinds of rows in which a column has content. */
#define OF_WINDOW 1
#define OF_FINE 2
#define OF_NEITHER 4
#define OF_ALL (OF_WINDOW | OF_FINE | OF_NEITHER)

static const struct {
    struct table_column head;
    void (*text)(char *text, const struct row *row);
    unsigned rows;
    bool of_series, of_one; /* only shown in this kind of table */
    bool of_guest_stats;    /* only shown if the guest was asked */
} columns[] = {
    {.head = {.name = "DOMAIN", .cut = true, .width = 24}, .text = cell_domain, .rows = OF_ALL},
    {.head = {.name = "WINDOW", .right = true, .width = 6},
     .text = cell_window,
     .rows = OF_WINDOW | OF_FINE},
    {.head = {.name = "EST", .right = true, .rank = 7, .width = 7},
     .text = cell_est,
     .rows = OF_WINDOW | OF_FINE},
    {.head = {.name = "WSS", .right = true, .width = 10},
     .text = cell_wss,
     .rows = OF_WINDOW | OF_FINE},
    {.head = {.name = "±", .right = true, .rank = 1, .width = 10},
     .text = cell_error,
     .rows = OF_WINDOW | OF_FINE},
    {.head = {.name = "TOUCHED", .right = true, .rank = 6, .width = 7},
     .text = cell_touched,
     .rows = OF_WINDOW},
    {.head = {.name = "RESIDENT", .right = true, .rank = 4, .width = 10},
     .text = cell_resident,
     .rows = OF_WINDOW | OF_NEITHER},
    {.head = {.name = "RAM", .right = true, .rank = 5, .width = 10},
     .text = cell_ram,
     .rows = OF_WINDOW | OF_NEITHER},
    {.head = {.name = "VCPU", .right = true, .rank = 10, .width = 7},
     .text = cell_vcpu,
     .rows = OF_WINDOW},
    {.head = {.name = "METHOD", .rank = 9, .width = 12}, .text = cell_method, .rows = OF_ALL},
    {.head = {.name = "AGE", .right = true, .rank = 3},
     .text = cell_age,
     .rows = OF_WINDOW | OF_NEITHER,
     .of_one = true},
    {.head = {.name = "TIME", .right = true, .rank = 2, .width = 9},
     .text = cell_time,
     .rows = OF_WINDOW | OF_NEITHER,
     .of_series = true},
    {.head = {.name = "GUEST AVAIL", .right = true, .rank = 8, .width = 11},
     .text = cell_avail,
     .rows = OF_WINDOW,
     .of_guest_stats = true},
    {.head = {.name = "NEEDS", .rank = 8, .width = 5},
     .text = cell_needs,
     .rows = OF_WINDOW,
     .of_guest_stats = true},
    {.head = {.name = "FLAGS", .last = true, .rank = 3, .width = 16},
     .text = cell_flags,
     .rows = OF_WINDOW | OF_NEITHER},
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* Each record of a series is a separate table: if columns were as wide as their cells, they would
 * not align. A program that reads a pipe needs no alignment. */
static struct table *make_table(bool series)
{
    struct table_column heads[N_COLUMNS];

    for (size_t i = 0; i < N_COLUMNS; i++) {
        heads[i] = columns[i].head;
        if (!series || !isatty(STDOUT_FILENO))
            heads[i].width = 0;
    }
    return table_new(heads, N_COLUMNS);
}

/* An unknown value is empty beside a window, and a dash in a row without a window. */
static void add_row(struct table *table, const struct row *row)
{
    const unsigned of = row->fine ? OF_FINE : row->window ? OF_WINDOW : OF_NEITHER;
    char cell[N_COLUMNS][CELL_MAX];
    const char *cells[N_COLUMNS];

    for (size_t i = 0; i < N_COLUMNS; i++) {
        snprintf(cell[i], CELL_MAX, "%s", row->fine ? "" : "-");
        if (columns[i].rows & of)
            columns[i].text(cell[i], row);
        cells[i] = cell[i];
    }
    table_row(table, cells);
}

static void print_record(const struct sample_record *record, bool heading, bool series)
{
    struct table *table = make_table(series);

    if (!table)
        return;
    for (size_t w = 0; w < record->n_windows; w++)
        add_row(table, &(struct row){.record = record, .window = &record->windows[w]});
    if (record->flags & FLAG_NOT_MEASURED)
        add_row(table, &(struct row){.record = record});
    if (record->fine.present)
        add_row(table, &(struct row){.record = record, .fine = &record->fine});
    for (size_t i = 0; i < N_COLUMNS; i++)
        if ((columns[i].of_guest_stats && !guest_stats_requested(&record->guest)) ||
            (columns[i].of_series && !series) || (columns[i].of_one && series))
            table_hide(table, i);
    table_print(table, heading);
    table_free(table);
}

void sample_table_print(const struct sample_record *record, bool heading)
{
    print_record(record, heading, false);
}

void sample_table_print_series(const struct sample_record *record, bool heading)
{
    print_record(record, heading, true);
}
