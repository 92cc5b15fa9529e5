// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file status.c  See status.h. */
#include "show/status.h"

#include "base/plural.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/host_memory.h"
#include "show/sample_table.h"
#include "show/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of windows with columns: the shortest, one between, the longest. */
#define WINDOWS 3
#define CELL 256
/* A guest that uses this share of its RAM may need more. */
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

/* --- the cells -------------------------------------------------------------------------------- */

/* The windows of the columns: those of the guest that has the most. */
struct windows {
    size_t n;
    double s[WINDOWS];
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
    windows.n = !most ? 0 : most->n_windows < WINDOWS ? most->n_windows : WINDOWS;
    for (size_t i = 0; i < windows.n; i++)
        windows.s[i] =
            most->windows[windows.n == 1 ? 0 : i * (most->n_windows - 1) / (windows.n - 1)]
                .window_s;
    return windows;
}

struct cell {
    const struct status_guest *guest;
    const struct sample_record *sample; /* NULL: not measured */
    const struct window_record *window; /* the column's window; NULL: it has none */
};

static void cell_domain(char *text, const struct cell *cell)
{
    utf8_printable_copy(text, CELL, cell->guest->name);
    utf8_end(text);
}

static void cell_uuid(char *text, const struct cell *cell)
{
    if (*cell->guest->uuid)
        utf8_printable_copy(text, CELL, cell->guest->uuid);
}

static void cell_pid(char *text, const struct cell *cell)
{
    if (cell->guest->pid)
        snprintf(text, CELL, "%d", (int)cell->guest->pid);
}

static void cell_assigned(char *text, const struct cell *cell)
{
    if (cell->guest->assigned_bytes != STATUS_UNKNOWN)
        show_bytes(text, CELL, cell->guest->assigned_bytes);
}

static void cell_balloon(char *text, const struct cell *cell)
{
    if (cell->guest->balloon_bytes != STATUS_UNKNOWN)
        show_bytes(text, CELL, cell->guest->balloon_bytes);
}

static void cell_resident(char *text, const struct cell *cell)
{
    if (cell->guest->has_record)
        show_bytes(text, CELL, cell->guest->kept.record.sample.resident_bytes);
}

static void cell_wss(char *text, const struct cell *cell)
{
    if (cell->window)
        show_bytes(text, CELL, cell->window->wss_bytes);
}

static void cell_error(char *text, const struct cell *cell)
{
    if (cell->window)
        show_error(text, CELL, cell->window->wss_bytes, cell->window->wss_low_bytes,
                   cell->window->wss_high_bytes);
}

static void cell_share(char *text, const struct cell *cell)
{
    if (cell->window && cell->sample->ram_bytes > 0)
        snprintf(text, CELL, "%.1f%%",
                 100 * (double)cell->window->wss_bytes / (double)cell->sample->ram_bytes);
}

static void cell_reclaimable(char *text, const struct cell *cell)
{
    uint64_t bytes;

    if (cell->sample && sample_reclaimable(cell->sample, &bytes))
        show_bytes(text, CELL, bytes);
}

static void cell_method(char *text, const struct cell *cell)
{
    if (cell->sample)
        sample_method(text, CELL, cell->sample);
}

static void cell_age(char *text, const struct cell *cell)
{
    if (cell->guest->has_record)
        show_seconds(text, CELL, (double)(long)cell->guest->age_s);
}

static void cell_flags(char *text, const struct cell *cell)
{
    if (cell->sample)
        sample_flags_text(text, CELL, cell->sample->flags);
    else
        snprintf(text, CELL, "%s", cell->guest->suspended ? "suspended" : "not-measured");
}

enum when {
    ALWAYS,
    ASKED,    /* only with -o */
    BALLOONS, /* shown if any is known */
    WINDOW_1,
    WINDOW_2, /* shown if there are three */
    WINDOW_3, /* shown if there are two */
};

static const struct {
    const char *key; /* name for -o */
    struct table_column head;
    enum when when;
    void (*text)(char *text, const struct cell *cell);
} columns[] = {
    {"domain", {.name = "DOMAIN", .cut = true}, ALWAYS, cell_domain},
    {"uuid", {.name = "UUID", .rank = 12}, ASKED, cell_uuid},
    {"pid", {.name = "PID", .right = true, .rank = 12}, ASKED, cell_pid},
    {"assigned", {.name = "ASSIGNED", .right = true, .rank = 1}, ALWAYS, cell_assigned},
    {"balloon", {.name = "BALLOON", .right = true, .rank = 5}, BALLOONS, cell_balloon},
    {"resident", {.name = "RESIDENT", .right = true, .rank = 6}, ALWAYS, cell_resident},
    {"wss", {.name = "WSS", .right = true}, WINDOW_1, cell_wss},
    {"error", {.name = "±", .right = true, .rank = 2}, WINDOW_1, cell_error},
    {"share", {.name = "OF RAM", .right = true, .rank = 9}, WINDOW_1, cell_share},
    {"wss-middle", {.name = "WSS", .right = true, .rank = 10}, WINDOW_2, cell_wss},
    {"error-middle", {.name = "±", .right = true, .rank = 10}, WINDOW_2, cell_error},
    {"wss-longest", {.name = "WSS", .right = true, .rank = 7}, WINDOW_3, cell_wss},
    {"error-longest", {.name = "±", .right = true, .rank = 8}, WINDOW_3, cell_error},
    {"reclaimable", {.name = "RECLAIMABLE", .right = true, .rank = 4}, ALWAYS, cell_reclaimable},
    {"method", {.name = "METHOD", .rank = 11}, ALWAYS, cell_method},
    {"age", {.name = "AGE", .right = true, .rank = 3}, ALWAYS, cell_age},
    {"flags", {.name = "FLAGS", .rank = 5}, ALWAYS, cell_flags},
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* --- columns ---------------------------------------------------------------------------------- */

char *status_column_names(char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t c = 0; c < N_COLUMNS && used < size; c++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", c ? ", " : "", columns[c].key);
    return text;
}

/* Returns the number of the column whose name is at @p name; N_COLUMNS: there is none. *after: the
 * text behind the name. */
static size_t find_column(const char *name, const char **after)
{
    size_t length = strcspn(name, ",");

    *after = name + length + (name[length] == ',');
    for (size_t c = 0; c < N_COLUMNS; c++)
        if (strlen(columns[c].key) == length && strncmp(columns[c].key, name, length) == 0)
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
        return windows->n == WINDOWS;
    if (when == WINDOW_3)
        return windows->n > 1;
    return when != ASKED;
}

/* Returns the column's window; 0: it has none. */
static double window_of(const struct windows *windows, enum when when)
{
    if (windows->n == 0 || when < WINDOW_1 || (when == WINDOW_2 && windows->n < WINDOWS))
        return 0;
    if (when == WINDOW_1)
        return windows->s[0];
    return windows->s[when == WINDOW_2 ? 1 : windows->n - 1];
}

/* --- the table -------------------------------------------------------------------------------- */

struct grid {
    struct windows windows;
    struct table_column heads[N_COLUMNS];
    char names[N_COLUMNS][40];
    char (*cells)[N_COLUMNS][CELL]; /* one row for each guest */
    size_t order[N_COLUMNS], n;     /* the columns that are shown */
};

static void make_heads(struct grid *grid)
{
    char window[24];

    for (size_t c = 0; c < N_COLUMNS; c++) {
        double window_s = window_of(&grid->windows, columns[c].when);

        grid->heads[c] = columns[c].head;
        snprintf(grid->names[c], sizeof(grid->names[c]), "%s", columns[c].head.name);
        if (columns[c].text == cell_wss && window_s > 0)
            snprintf(grid->names[c], sizeof(grid->names[c]), "WSS %s",
                     show_seconds_short(window, sizeof(window), window_s));
        grid->heads[c].name = grid->names[c];
    }
}

static void fill_row(struct grid *grid, const struct status *status, size_t i)
{
    const struct status_guest *guest = &status->guests[i];

    for (size_t c = 0; c < N_COLUMNS; c++) {
        char *text = grid->cells[i][c];
        struct cell cell = {.guest = guest};

        if (guest->measured) {
            cell.sample = &guest->kept.record.sample;
            cell.window = sample_window(cell.sample, window_of(&grid->windows, columns[c].when));
        }
        snprintf(text, CELL, "-");
        columns[c].text(text, &cell);
    }
}

static void choose_columns(struct grid *grid, const struct status *status, const char *list)
{
    while (list && *list && grid->n < N_COLUMNS) {
        const size_t c = find_column(list, &list);

        grid->heads[c].rank = 0; /* requested, so it stays whatever the width */
        grid->heads[c].cut = false;
        grid->order[grid->n++] = c;
    }
    for (size_t c = 0; !list && c < N_COLUMNS; c++)
        if (is_there(status, &grid->windows, columns[c].when))
            grid->order[grid->n++] = c;
}

static const char *colour_of(const struct status_guest *guest)
{
    const struct sample_record *sample = &guest->kept.record.sample;

    if (!guest->measured)
        return guest->suspended ? NULL : "red";
    return (double)sample->windows[0].wss_bytes > NEARLY_ALL * (double)sample->ram_bytes ? "yellow"
                                                                                         : NULL;
}

static int print_grid(const struct grid *grid, const struct status *status)
{
    struct table_column heads[N_COLUMNS];
    const char *cells[N_COLUMNS];
    struct table *table;
    int rc = 0;

    for (size_t c = 0; c < grid->n; c++)
        heads[c] = grid->heads[grid->order[c]];
    table = table_new(heads, grid->n);
    for (size_t i = 0; table && rc == 0 && i < status->n; i++) {
        for (size_t c = 0; c < grid->n; c++)
            cells[c] = grid->cells[i][grid->order[c]];
        rc = table_row(table, cells);
        if (rc == 0)
            table_colour_row(table, colour_of(&status->guests[i]));
    }
    if (table && rc == 0)
        table_print(table, true);
    table_free(table);
    return table ? rc : -ENOMEM;
}

static int print_guests(const struct status *status, const char *list)
{
    struct grid grid = {.windows = choose_windows(status)};
    int rc;

    grid.cells = calloc(status->n, sizeof(*grid.cells));
    if (!grid.cells)
        return -ENOMEM;
    make_heads(&grid);
    for (size_t i = 0; i < status->n; i++)
        fill_row(&grid, status, i);
    choose_columns(&grid, status, list);
    rc = print_grid(&grid, status);
    free(grid.cells);
    return rc;
}

/* --- head and foot ---------------------------------------------------------------------------- */

static void print_daemon(const struct status *status)
{
    const struct status_daemon *daemon = &status->daemon;
    const bool colour = table_colours();
    char text[32];

    if (!daemon->pid || !daemon->writes) {
        printf("%svmwssd %s%s", colour ? RED : "",
               daemon->pid ? "runs, but does not write this history" : "does not run",
               colour ? PLAIN : "");
    } else {
        printf("vmwssd runs for %s", show_seconds(text, sizeof(text), (double)(long)daemon->age_s));
        if (daemon->cpu_s >= 0 && daemon->age_s > 0)
            printf(", at %.2f%% of a core", 100 * daemon->cpu_s / daemon->age_s);
        if (daemon->budget > 0)
            printf(" (budget %g%%)", 100 * daemon->budget);
    }
    if (status->newest_s > 0)
        printf("; newest record %s ago",
               show_seconds(text, sizeof(text), (double)(long)(status->now_s - status->newest_s)));
    putchar('\n');
    if (*status->no_history)
        printf("%sno history: %s%s\n", colour ? RED : "", status->no_history, colour ? PLAIN : "");
}

struct sums {
    uint64_t assigned, resident, wss, reclaimable;
    size_t measured;
};

static struct sums add_up(const struct status *status)
{
    struct sums sums = {0};
    uint64_t bytes;

    for (size_t i = 0; i < status->n; i++) {
        const struct status_guest *guest = &status->guests[i];
        const struct sample_record *sample = &guest->kept.record.sample;

        sums.assigned += guest->assigned_bytes != STATUS_UNKNOWN ? guest->assigned_bytes : 0;
        sums.resident += guest->has_record ? sample->resident_bytes : 0;
        if (!guest->measured)
            continue;
        sums.measured++;
        sums.wss += sample->windows[0].wss_bytes;
        sums.reclaimable += sample_reclaimable(sample, &bytes) ? bytes : 0;
    }
    return sums;
}

static void print_host(const struct status *status)
{
    const struct sums sums = add_up(status);
    char host[HOST_MEMORY_TEXT];
    char text[4][32];

    printf("host: %s\n", host_memory_text(host, &status->memory, sums.assigned));
    printf("%zu guest%s, %zu measured: assigned %s, resident %s, WSS %s, reclaimable %s\n",
           status->n, plural((double)status->n), sums.measured,
           show_bytes(text[0], sizeof(text[0]), sums.assigned),
           show_bytes(text[1], sizeof(text[1]), sums.resident),
           show_bytes(text[2], sizeof(text[2]), sums.wss),
           show_bytes(text[3], sizeof(text[3]), sums.reclaimable));
}

static void print_reasons(const struct status *status)
{
    char name[CELL];

    for (size_t i = 0; i < status->n; i++)
        if (!status->guests[i].measured)
            printf("%s: %s\n", utf8_printable_copy(name, sizeof(name), status->guests[i].name),
                   status->guests[i].reason);
    if (!status->sees_processes)
        puts("guests without a record are shown to root only");
}

int status_print(const struct status *status, const char *list)
{
    int rc;

    print_daemon(status);
    print_host(status);
    rc = status->n > 0 ? print_guests(status, list) : 0;
    if (rc == 0)
        print_reasons(status);
    return rc;
}
