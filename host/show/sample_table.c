// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file sample_table.c  See sample_table.h. */
#include "show/sample_table.h"

#include "base/utf8.h"
#include "show/guest_word.h"
#include "show/table.h"
#include "show/units.h"

#include <stdio.h>
#include <string.h>

static const struct table_column columns[] = {
    {.name = "DOMAIN"},
    {.name = "WINDOW", .right = true},
    {.name = "EST", .right = true},
    {.name = "WSS", .right = true},
    {.name = "±", .right = true},
    {.name = "TOUCHED", .right = true},
    {.name = "RESIDENT", .right = true},
    {.name = "RAM", .right = true},
    {.name = "VCPU", .right = true},
    {.name = "METHOD"},
    {.name = "AGE", .right = true},
    {.name = "GUEST AVAIL", .right = true},
    {.name = "NEEDS"},
    {.name = "FLAGS", .last = true},
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* What the guest itself says: only there if somebody asked it. */
#define COLUMN_AVAIL (N_COLUMNS - 3)
#define COLUMN_NEEDS (N_COLUMNS - 2)

static double age_s(const struct timespec *time)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)(now.tv_sec - time->tv_sec) + (double)(now.tv_nsec - time->tv_nsec) / 1e9;
}

uint64_t window_half_width(const struct window_record *window)
{
    uint64_t up = window->wss_high_bytes - window->wss_bytes;
    uint64_t down = window->wss_bytes - window->wss_low_bytes;

    return up > down ? up : down;
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

void sample_head_print(const struct sample_record *record)
{
    char name[300];
    char text[400];

    sample_name(name, sizeof(name), record);
    sample_subtitle(text, sizeof(text), record);
    printf("%s: %s; vCPUs ran %.2fs, CPU time of this measurement %.3fs\n", name, text,
           record->vcpu_s, record->cpu_s);
}

static void add_window(struct table *table, const struct sample_record *record, size_t w)
{
    const struct window_record *window = &record->windows[w];
    char cell[N_COLUMNS][256];
    const char *cells[N_COLUMNS];
    const size_t size = sizeof(cell[0]);

    sample_name(cell[0], size, record);
    show_seconds(cell[1], size, window->window_s);
    snprintf(cell[2], size, "%.2fs", window->est_window_s);
    show_bytes(cell[3], size, window->wss_bytes);
    show_error(cell[4], size, window->wss_bytes, window->wss_low_bytes, window->wss_high_bytes);
    snprintf(cell[5], size, "%.1f%%", 100 * window->touched_fraction);
    show_bytes(cell[6], size, record->resident_bytes);
    show_bytes(cell[7], size, record->ram_bytes);
    snprintf(cell[8], size, "%.2fs", record->vcpu_s);
    sample_method(cell[9], size, record);
    show_seconds(cell[10], size, age_s(&record->time));
    word_bytes_text(cell[11], size,
                    record->guest.source == WORD_NONE ? AGENT_UNKNOWN
                                                      : record->guest.available_bytes);
    word_verdict_text(cell[12], size, &record->guest);
    sample_flags_text(cell[13], size, record->flags);
    for (size_t i = 0; i < N_COLUMNS; i++)
        cells[i] = cell[i];
    table_row(table, cells);
}

/* It runs, and its size is all that is known. */
static void add_unmeasured(struct table *table, const struct sample_record *record)
{
    char cell[5][256];
    const size_t size = sizeof(cell[0]);

    sample_name(cell[0], size, record);
    show_bytes(cell[1], size, record->resident_bytes);
    show_bytes(cell[2], size, record->ram_bytes);
    show_seconds(cell[3], size, age_s(&record->time));
    sample_flags_text(cell[4], size, record->flags);

    const char *cells[N_COLUMNS] = {cell[0], "-", "-",    "-",     "-", "-", cell[1],
                                    cell[2], "-", "none", cell[3], "-", "-", cell[4]};

    table_row(table, cells);
}

/* The last window again, in base pages. What its other columns would hold stands in the line above
 * it. */
static void add_fine(struct table *table, const struct sample_record *record)
{
    const struct fine_record *fine = &record->fine;
    char cell[6][256];
    const size_t size = sizeof(cell[0]);

    sample_name(cell[0], size, record);
    show_seconds(cell[1], size, fine->window_s);
    snprintf(cell[2], size, "%.2fs", fine->est_window_s);
    show_bytes(cell[3], size, fine->wss_bytes);
    show_error(cell[4], size, fine->wss_bytes, fine->wss_low_bytes, fine->wss_high_bytes);
    snprintf(cell[5], size, "fine, %llu huge pages split%s",
             (unsigned long long)fine->huge_pages_sampled,
             fine->huge_pages_not_joined ? ", some not joined" : "");

    const char *cells[N_COLUMNS] = {cell[0], cell[1], cell[2], cell[3], cell[4], "", "",
                                    "",      "",      cell[5], "",      "",      "", ""};

    table_row(table, cells);
}

void sample_table_print(const struct sample_record *record, bool heading)
{
    struct table *table = table_new(columns, N_COLUMNS);

    if (!table)
        return;
    for (size_t w = 0; w < record->n_windows; w++)
        add_window(table, record, w);
    if (record->flags & FLAG_NOT_MEASURED)
        add_unmeasured(table, record);
    if (record->fine.present)
        add_fine(table, record);
    if (!word_was_asked(&record->guest)) {
        table_hide(table, COLUMN_AVAIL);
        table_hide(table, COLUMN_NEEDS);
    }
    table_print(table, heading);
    table_free(table);
}
