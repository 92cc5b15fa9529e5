// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/status.h"

#include "base/plural.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/host_memory.h"
#include "show/note.h"
#include "show/sample_json.h"
#include "show/sample_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL 256
/* Above this share of its RAM, a guest may need more. */
#define NEARLY_ALL 0.9

#define RED "\033[31m"
#define PLAIN "\033[0m"

void status_free(struct status *status)
{
    free(status->guests);
    *status = (struct status){0};
}

bool status_is_well(const struct status *status)
{
    bool well = status->daemon.pid && status->daemon.writes && !*status->no_history;

    for (size_t i = 0; i < status->n; i++)
        well &= status->guests[i].measured || status->guests[i].suspended;
    return well;
}

/* --- windows ---------------------------------------------------------------------------------- */

/* The windows of the columns: those of the guest with the most windows. */
struct windows {
    size_t n;
    double s[SAMPLE_COLUMN_WINDOWS];
};

static struct windows choose_windows(const struct status *status)
{
    const struct sample_record *most = NULL;
    struct windows windows = {0};

    for (size_t i = 0; i < status->n; i++) {
        const struct sample_record *sample = &status->guests[i].kept.record.sample;

        if (status->guests[i].measured && (!most || sample->n_windows > most->n_windows))
            most = sample;
    }
    windows.n = most ? sample_choose_windows(most, windows.s) : 0;
    return windows;
}

/* --- columns ---------------------------------------------------------------------------------- */

enum when {
    ALWAYS,
    ASKED,    /* shown only with -o */
    BALLOONS, /* shown if any guest's is known */
    WINDOW_1,
    WINDOW_2, /* shown if there are three windows */
    WINDOW_3, /* shown if there are two windows */
};

static const struct {
    const char *name; /* for -o */
    enum when when;
    struct sheet_column column;
} columns[] = {
    {"domain", ALWAYS, {"domain", {.name = "DOMAIN", .cut = true}}},
    {"uuid", ASKED, {"uuid", {.name = "UUID", .rank = 12}}},
    {"pid", ASKED, {"pid", {.name = "PID", .right = true, .rank = 12}}},
    {"assigned", ALWAYS, {"ram_bytes", {.name = "ASSIGNED", .right = true, .rank = 1}}},
    {"balloon", BALLOONS, {"balloon_bytes", {.name = "BALLOON", .right = true, .rank = 5}}},
    {"resident", ALWAYS, {"resident_bytes", {.name = "RESIDENT", .right = true, .rank = 6}}},
    {"wss", WINDOW_1, {"wss_1", {.name = "WSS", .right = true}}},
    {"error", WINDOW_1, {"error_1", {.name = "±", .right = true, .rank = 2}}},
    {"share", WINDOW_1, {"share", {.name = "OF RAM", .right = true, .rank = 9}}},
    {"wss-middle", WINDOW_2, {"wss_2", {.name = "WSS", .right = true, .rank = 10}}},
    {"error-middle", WINDOW_2, {"error_2", {.name = "±", .right = true, .rank = 10}}},
    {"wss-longest", WINDOW_3, {"wss_3", {.name = "WSS", .right = true, .rank = 7}}},
    {"error-longest", WINDOW_3, {"error_3", {.name = "±", .right = true, .rank = 8}}},
    {"reclaimable",
     ALWAYS,
     {"reclaimable_bytes", {.name = "RECLAIMABLE", .right = true, .rank = 4}}},
    {"method", ALWAYS, {"shown_method", {.name = "METHOD", .rank = 11}}},
    {"age", ALWAYS, {"age_seconds", {.name = "AGE", .right = true, .rank = 3}}},
    {"flags", ALWAYS, {"shown_flags", {.name = "FLAGS", .rank = 5}}},
};
#define N_COLUMNS COUNT(columns)

char *status_column_names(char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t c = 0; c < N_COLUMNS && used < size; c++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", c ? ", " : "", columns[c].name);
    return text;
}

/* Returns the number of the column whose name is at @p name, or N_COLUMNS. Sets *after to the text
 * after the name. */
static size_t find_column(const char *name, const char **after)
{
    size_t length = strcspn(name, ",");

    *after = name + length + (name[length] == ',');
    for (size_t c = 0; c < N_COLUMNS; c++)
        if (strlen(columns[c].name) == length && strncmp(columns[c].name, name, length) == 0)
            return c;
    return N_COLUMNS;
}

int status_columns_check(const char *list)
{
    if (!*list || list[strlen(list) - 1] == ',')
        return -EINVAL;
    while (*list)
        if (find_column(list, &list) == N_COLUMNS)
            return -EINVAL;
    return 0;
}

static bool any_balloon(const struct status *status)
{
    for (size_t i = 0; i < status->n; i++)
        if (status->guests[i].balloon_bytes != STATUS_UNKNOWN)
            return true;
    return false;
}

static bool is_there(const struct status *status, const struct windows *windows, enum when when)
{
    if (when == BALLOONS)
        return any_balloon(status);
    if (when == WINDOW_2)
        return windows->n == SAMPLE_COLUMN_WINDOWS;
    if (when == WINDOW_3)
        return windows->n > 1;
    return when != ASKED;
}

/* Returns the column's window; 0: it has no window. */
static double window_of(const struct windows *windows, enum when when)
{
    if (windows->n == 0 || when < WINDOW_1 ||
        (when == WINDOW_2 && windows->n < SAMPLE_COLUMN_WINDOWS))
        return 0;
    if (when == WINDOW_1)
        return windows->s[0];
    return windows->s[when == WINDOW_2 ? 1 : windows->n - 1];
}

/* The table's columns, and the data of its rows. */
struct grid {
    struct windows windows;
    struct sheet_column columns[N_COLUMNS];
    char names[N_COLUMNS][40];
    size_t n;
};

/* A column that was @p asked for is shown at any width. */
static void add_column(struct grid *grid, size_t c, bool asked)
{
    const double window_s = window_of(&grid->windows, columns[c].when);
    struct sheet_column *column = &grid->columns[grid->n];

    *column = columns[c].column;
    if (window_s > 0 && strncmp(column->key, "wss", 3) == 0) {
        snprintf(grid->names[grid->n], sizeof(grid->names[0]), "WSS %s",
                 SECONDS_SHORT_TEXT(window_s));
        column->head.name = grid->names[grid->n];
    }
    if (asked) {
        column->head.rank = 0;
        column->head.cut = false;
    }
    grid->n++;
}

static void choose_columns(struct grid *grid, const struct status *status, const char *list)
{
    grid->windows = choose_windows(status);
    while (list && *list && grid->n < N_COLUMNS)
        add_column(grid, find_column(list, &list), true);
    for (size_t c = 0; !list && c < N_COLUMNS; c++)
        if (is_there(status, &grid->windows, columns[c].when))
            add_column(grid, c, false);
}

/* --- guests ----------------------------------------------------------------------------------- */

static void cell_window(struct sheet *sheet, const char *const keys[2],
                        const struct window_record *window)
{
    char text[CELL] = "-";

    if (window)
        show_error(text, sizeof(text), window->wss_bytes, window->wss_low_bytes,
                   window->wss_high_bytes);
    sheet_cell_bytes(sheet, keys[0], window ? (double)window->wss_bytes : NAN);
    sheet_cell(sheet, keys[1], "%s", text);
}

static void cell_windows(struct sheet *sheet, const struct windows *windows,
                         const struct sample_record *sample)
{
    static const char *const keys[][2] = {
        {"wss_1", "error_1"}, {"wss_2", "error_2"}, {"wss_3", "error_3"}};
    const struct window_record *first = NULL;

    for (enum when when = WINDOW_1; when <= WINDOW_3; when++) {
        const struct window_record *window = sample
                                                 ? sample_window(sample, window_of(windows, when))
                                                 : NULL;

        cell_window(sheet, keys[when - WINDOW_1], window);
        first = when == WINDOW_1 ? window : first;
    }
    if (first && sample->ram_bytes > 0)
        sheet_cell(sheet, "share", "%.1f%%",
                   100 * (double)first->wss_bytes / (double)sample->ram_bytes);
    else
        sheet_cell(sheet, "share", "-");
}

/* @p sample NULL: the guest is not measured. */
static void cell_sample(struct sheet *sheet, const struct status_guest *guest,
                        const struct sample_record *sample)
{
    char method[CELL] = "-";
    char flags[SAMPLE_FLAGS_TEXT];

    snprintf(flags, sizeof(flags), "%s", guest->suspended ? "suspended" : "not-measured");
    if (sample) {
        sample_method(method, sizeof(method), sample);
        sample_flags_text(flags, sizeof(flags), sample->flags);
    }
    sheet_cell(sheet, "shown_method", "%s", method);
    sheet_cell(sheet, "shown_flags", "%s", flags);
}

static const char *colour_of(const struct status_guest *guest)
{
    const struct sample_record *sample = &guest->kept.record.sample;

    if (!guest->measured)
        return guest->suspended ? NULL : "red";
    return (double)sample->windows[0].wss_bytes > NEARLY_ALL * (double)sample->ram_bytes ? "yellow"
                                                                                         : NULL;
}

/* Sets null if @p seconds is unknown (below 0). */
static void fill_seconds(struct sheet *sheet, const char *key, double seconds)
{
    sheet_real(sheet, key, seconds < 0 ? NAN : sheet_rounded(seconds, 1e-3));
}

static void fill_pid(struct sheet *sheet, const char *key, pid_t pid)
{
    sheet_count(sheet, key, pid > 0 ? (uint64_t)pid : UINT64_MAX);
}

static uint64_t resident_of(const struct status_guest *guest)
{
    return guest->has_record ? guest->kept.record.sample.resident_bytes : guest->resident_bytes;
}

static void fill_name(struct sheet *sheet, const struct status_guest *guest)
{
    char text[CELL];

    sheet_text(sheet, "domain", guest->name);
    utf8_printable_copy(text, sizeof(text), guest->name);
    utf8_end(text);
    sheet_cell(sheet, "domain", "%s", text);
}

static void fill_age(struct sheet *sheet, const struct status_guest *guest)
{
    fill_seconds(sheet, "age_seconds", guest->has_record ? guest->age_s : -1);
    if (guest->has_record)
        sheet_cell(sheet, "age_seconds", "%s", SECONDS_TEXT((double)(long)guest->age_s));
}

static void fill_guest(struct sheet *sheet, const struct windows *windows,
                       const struct status_guest *guest)
{
    const struct sample_record *sample = guest->measured ? &guest->kept.record.sample : NULL;
    uint64_t bytes;
    const bool known = sample && sample_reclaimable(sample, &bytes);

    sheet_row(sheet);
    if (guest->has_record)
        sample_fill(sheet, &guest->kept.record.sample);
    fill_name(sheet, guest);
    sheet_text(sheet, "uuid", *guest->uuid ? guest->uuid : NULL);
    fill_pid(sheet, "pid", guest->pid);
    sheet_bytes(sheet, "ram_bytes", guest->assigned_bytes);
    sheet_bytes(sheet, "resident_bytes", resident_of(guest));
    sheet_bytes(sheet, "balloon_bytes", guest->balloon_bytes);
    sheet_bool(sheet, "measured", guest->measured);
    sheet_bool(sheet, "suspended", guest->suspended);
    sheet_text(sheet, "reason", guest->reason);
    fill_age(sheet, guest);
    sheet_bytes(sheet, "reclaimable_bytes", known ? bytes : STATUS_UNKNOWN);
    cell_windows(sheet, windows, sample);
    cell_sample(sheet, guest, sample);
    sheet_colour(sheet, colour_of(guest));
}

/* --- the host --------------------------------------------------------------------------------- */

struct sums {
    uint64_t assigned, resident, wss, reclaimable;
    /* numbers of guests whose resident memory, WSS, reclaimable memory are known */
    size_t residents, measured, reclaimables;
};

/* Neither the history nor other users' processes can be read. */
static bool sees_nothing(const struct status *status)
{
    return *status->no_history && !status->sees_processes;
}

static struct sums add_up(const struct status *status)
{
    struct sums sums = {0};
    uint64_t bytes;

    for (size_t i = 0; i < status->n; i++) {
        const struct status_guest *guest = &status->guests[i];
        const struct sample_record *sample = &guest->kept.record.sample;

        sums.assigned += guest->assigned_bytes != STATUS_UNKNOWN ? guest->assigned_bytes : 0;
        sums.resident += resident_of(guest) != STATUS_UNKNOWN ? resident_of(guest) : 0;
        sums.residents += resident_of(guest) != STATUS_UNKNOWN;
        if (!guest->measured)
            continue;
        sums.measured++;
        sums.wss += sample->windows[0].wss_bytes;
        if (!sample_reclaimable(sample, &bytes))
            continue;
        sums.reclaimables++;
        sums.reclaimable += bytes;
    }
    return sums;
}

static void fill_daemon(struct sheet *sheet, const struct status *status)
{
    const struct status_daemon *daemon = &status->daemon;
    const bool runs = daemon->pid > 0;

    sheet_group(sheet, "daemon");
    sheet_bool(sheet, "running", runs);
    sheet_bool(sheet, "writes_history", daemon->writes);
    fill_pid(sheet, "pid", daemon->pid);
    fill_pid(sheet, "scanner_pid", daemon->scanner_pid);
    sheet_time(sheet, "since", runs ? status->now_s - daemon->age_s : 0, 3);
    fill_seconds(sheet, "cpu_seconds", runs ? daemon->cpu_s : -1);
    sheet_real(sheet, "budget", daemon->budget > 0 ? daemon->budget : NAN);
    sheet_text(sheet, "config", daemon->config);
    sheet_close(sheet);
}

static void fill_memory(struct sheet *sheet, const struct status *status)
{
    const struct host_memory *memory = &status->memory;
    const uint64_t assigned = add_up(status).assigned;
    const bool known = !sees_nothing(status);

    sheet_group(sheet, "memory");
    sheet_bytes(sheet, "total_bytes", memory->total_bytes);
    sheet_bytes(sheet, "available_bytes", memory->available_bytes);
    sheet_bytes(sheet, "swap_total_bytes", memory->swap_total_bytes);
    sheet_bytes(sheet, "swap_free_bytes", memory->swap_free_bytes);
    sheet_bytes(sheet, "assigned_bytes", known ? assigned : STATUS_UNKNOWN);
    sheet_real(sheet, "overcommit", known ? (double)assigned / (double)memory->total_bytes : NAN);
    sheet_close(sheet);
}

static void fill(struct sheet *sheet, const struct grid *grid, const struct status *status)
{
    sheet_time(sheet, "time", status->now_s, 3);
    sheet_text(sheet, "host", status->host);
    sheet_bool(sheet, "well", status_is_well(status));
    sheet_text(sheet, "database", status->database);
    sheet_text(sheet, "history_error", status->no_history);
    sheet_time(sheet, "newest", status->newest_s, 3);
    fill_daemon(sheet, status);
    fill_memory(sheet, status);
    sheet_bool(sheet, "sees_processes", status->sees_processes);
    sheet_list(sheet, "guests", grid->columns, grid->n);
    for (size_t i = 0; i < status->n; i++)
        fill_guest(sheet, &grid->windows, &status->guests[i]);
    sheet_close(sheet);
}

/* --- sentences -------------------------------------------------------------------------------- */

static void print_daemon(const struct status *status)
{
    const struct status_daemon *daemon = &status->daemon;
    const bool colour = table_colours();

    if (!daemon->pid || !daemon->writes) {
        note("%svmwssd %s%s", colour ? RED : "",
             daemon->pid ? "is running, but does not write this history" : "is not running",
             colour ? PLAIN : "");
    } else {
        note("vmwssd has been running for %s", SECONDS_TEXT((double)(long)daemon->age_s));
        if (daemon->cpu_s >= 0 && daemon->age_s > 0)
            note(", at %.2f%% of a core", 100 * daemon->cpu_s / daemon->age_s);
        if (daemon->budget > 0)
            note(" (budget %g%%)", 100 * daemon->budget);
    }
    if (status->newest_s > 0)
        note("; newest record %s ago",
             SECONDS_TEXT((double)(long)(status->now_s - status->newest_s)));
    note("\n");
    if (*status->no_history)
        note("%shistory: %s%s\n", colour ? RED : "", status->no_history, colour ? PLAIN : "");
}

/* @p known: number of guests whose value is known. */
static const char *sum_text(char text[32], const struct status *status, size_t known,
                            uint64_t bytes)
{
    return known > 0 || status->n == 0 ? show_bytes(text, 32, bytes) : "-";
}

static void print_host(const struct status *status)
{
    const struct sums sums = add_up(status);
    char host[HOST_MEMORY_TEXT];
    char text[4][32];

    host_memory_text(host, &status->memory, sees_nothing(status) ? STATUS_UNKNOWN : sums.assigned);
    note("host: %s\n", host);
    if (sees_nothing(status))
        return;
    note("%zu guest%s, %zu measured: assigned %s, resident %s, WSS %s, reclaimable %s\n", status->n,
         plural((double)status->n), sums.measured,
         show_bytes(text[0], sizeof(text[0]), sums.assigned),
         sum_text(text[1], status, sums.residents, sums.resident),
         sum_text(text[2], status, sums.measured, sums.wss),
         sum_text(text[3], status, sums.reclaimables, sums.reclaimable));
}

static void print_reasons(const struct status *status)
{
    char name[CELL];

    for (size_t i = 0; i < status->n; i++)
        if (!status->guests[i].measured)
            note("%s: %s\n", utf8_printable_copy(name, sizeof(name), status->guests[i].name),
                 status->guests[i].reason);
    if (!status->sees_processes)
        note("guests without a record are shown to root only\n");
}

int status_print(const struct status *status, const char *list, enum show_format format)
{
    struct grid grid = {.n = 0};
    struct sheet sheet;

    choose_columns(&grid, status, list);
    sheet_begin(&sheet, format, "vmwss.status.v1", NULL);
    if (format == SHOW_TABLE) {
        print_daemon(status);
        print_host(status);
    }
    fill(&sheet, &grid, status);
    if (format == SHOW_TABLE)
        print_reasons(status);
    return sheet_end(&sheet);
}
