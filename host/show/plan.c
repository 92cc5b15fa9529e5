// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan.c  See plan.h: the tables. */
#include "show/plan.h"

#include "base/bytes.h"
#include "base/plural.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/plan_words.h"
#include "show/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define CELL 300
#define MAX_COLUMNS 14

/* A row under construction, cell by cell. */
struct row {
    char cell[MAX_COLUMNS][CELL];
    size_t n;
};

static char *next_cell(struct row *row)
{
    return row->cell[row->n++];
}

static void add_text(struct row *row, const char *text)
{
    utf8_printable_copy(next_cell(row), CELL, text);
}

static void add_bytes(struct row *row, double bytes)
{
    show_bytes(next_cell(row), CELL, (uint64_t)fmax(bytes, 0));
}

static int add_row(struct table *table, const struct row *row)
{
    const char *cells[MAX_COLUMNS];

    for (size_t i = 0; i < row->n; i++)
        cells[i] = row->cell[i];
    return table_row(table, cells);
}

/* --- hosts ------------------------------------------------------------------------------------ */

static const struct table_column host_columns[] = {
    {.name = "HOST", .cut = true},
    {.name = "GUESTS", .right = true, .rank = 9},
    {.name = "ASSIGNED", .right = true, .rank = 6},
    {.name = "LIMIT", .right = true, .rank = 4},
    {.name = "NEED P50", .right = true, .rank = 7},
    {.name = "P99", .right = true, .rank = 3},
    {.name = "PLANNED", .right = true},
    {.name = "HEADROOM", .right = true, .rank = 1},
    {.name = "SHORT", .right = true, .rank = 2},
    {.name = "LONGEST", .right = true, .rank = 8},
    {.name = "SWAP IF ALL", .right = true, .rank = 10},
    {.name = "IF IT FAILS", .right = true, .rank = 5},
    {.name = "85% IN", .right = true, .rank = 5},
    {.name = "NOTE", .last = true, .rank = 4},
};
#define N_HOST_COLUMNS (sizeof(host_columns) / sizeof(host_columns[0]))

static int add_host(struct table *table, const struct plan_host *host,
                    const struct plan_host_result *result)
{
    const double headroom = result->limit_bytes - result->planned_bytes;
    struct row row = {.n = 0};
    char bytes[32];

    add_text(&row, host->name);
    snprintf(next_cell(&row), CELL, "%zu", result->n_guests);
    add_bytes(&row, result->ram_bytes);
    add_bytes(&row, result->limit_bytes);
    add_bytes(&row, result->need.p50_bytes);
    add_bytes(&row, result->need.p99_bytes);
    add_bytes(&row, result->planned_bytes);
    show_bytes(bytes, sizeof(bytes), (uint64_t)fabs(headroom));
    snprintf(next_cell(&row), CELL, "%s%s", headroom < 0 ? "-" : "", bytes);
    snprintf(next_cell(&row), CELL, "%.0fm/month", plan_month_minutes(result->need.short_share));
    show_seconds(next_cell(&row), CELL, result->need.longest_s);
    add_bytes(&row, result->swap_bytes);
    plan_unplaced_text(next_cell(&row), CELL, result);
    plan_runway_text(next_cell(&row), CELL, &result->runway);
    add_text(&row, plan_host_note(host, result));
    return add_row(table, &row);
}

static int print_hosts(const struct plan_shown *shown)
{
    struct table *table = table_new(host_columns, N_HOST_COLUMNS);
    int rc = table ? 0 : -ENOMEM;

    for (size_t h = 0; rc == 0 && h < shown->fleet->n_hosts; h++)
        rc = add_host(table, &shown->fleet->hosts[h], &shown->result->hosts[h]);
    if (rc == 0)
        table_print(table, true);
    table_free(table);
    return rc;
}

/* --- guests ----------------------------------------------------------------------------------- */

static const struct table_column guest_columns[] = {
    {.name = "DOMAIN", .cut = true},
    {.name = "HOST", .rank = 2},
    {.name = "ASSIGNED", .right = true, .rank = 3},
    {.name = "NEED P50", .right = true, .rank = 6},
    {.name = "P95", .right = true, .rank = 5},
    {.name = "P99", .right = true, .rank = 1},
    {.name = "MAX", .right = true, .rank = 7},
    {.name = "RIGHT SIZE", .right = true},
    {.name = "HISTORY", .right = true, .rank = 8},
    {.name = "NOTE", .last = true, .rank = 4},
};
#define N_GUEST_COLUMNS (sizeof(guest_columns) / sizeof(guest_columns[0]))

static int add_guest(struct table *table, const struct plan_fleet *fleet,
                     const struct plan_guest *guest)
{
    const double size = plan_right_size(guest);
    struct row row = {.n = 0};

    add_text(&row, guest->name);
    add_text(&row, fleet->hosts[guest->host].name);
    add_bytes(&row, (double)guest->ram_bytes);
    add_bytes(&row, guest->p50_bytes);
    add_bytes(&row, guest->p95_bytes);
    add_bytes(&row, guest->p99_bytes);
    add_bytes(&row, guest->max_bytes);
    if (size > 0)
        add_bytes(&row, size);
    else
        add_text(&row, "-");
    snprintf(next_cell(&row), CELL, "%.1fd", guest->days);
    plan_guest_note(next_cell(&row), CELL, guest);
    return add_row(table, &row);
}

static int print_guests(const struct plan_shown *shown)
{
    struct table *table = table_new(guest_columns, N_GUEST_COLUMNS);
    int rc = table ? 0 : -ENOMEM;

    for (size_t g = 0; rc == 0 && g < shown->fleet->n_guests; g++)
        rc = add_guest(table, shown->fleet, &shown->fleet->guests[g]);
    if (rc == 0)
        table_print(table, true);
    table_free(table);
    return rc;
}

/* --- moves ------------------------------------------------------------------------------------ */

static const struct table_column move_columns[] = {
    {.name = "MOVE", .cut = true},
    {.name = "FROM"},
    {.name = "TO"},
    {.name = "NEED P99", .right = true, .rank = 1},
    {.name = "GAIN", .last = true, .rank = 2},
};
#define N_MOVE_COLUMNS (sizeof(move_columns) / sizeof(move_columns[0]))

static int add_move(struct table *table, const struct plan_fleet *fleet,
                    const struct plan_move *move)
{
    struct row row = {.n = 0};
    char from[256];

    add_text(&row, fleet->guests[move->guest].name);
    add_text(&row, utf8_printable_copy(from, sizeof(from), fleet->hosts[move->from].name));
    add_text(&row, fleet->hosts[move->to].name);
    add_bytes(&row, fleet->guests[move->guest].p99_bytes);
    snprintf(next_cell(&row), CELL, "%s %s", move->why == PLAN_EMPTY ? "empties" : "relieves",
             from);
    return add_row(table, &row);
}

static int print_moves(const struct plan_shown *shown)
{
    const struct plan_result *result = shown->result;
    struct table *table = table_new(move_columns, N_MOVE_COLUMNS);
    int rc = table ? 0 : -ENOMEM;

    for (size_t m = 0; rc == 0 && m < result->moves.n; m++)
        rc = add_move(table, shown->fleet, &result->moves.move[m]);
    if (rc == 0 && result->moves.n > 0)
        table_print(table, true);
    table_free(table);
    return rc;
}

/* --- sentences -------------------------------------------------------------------------------- */

static void print_name(FILE *out, const char *name)
{
    char text[256];

    fputs(utf8_printable_copy(text, sizeof(text), name), out);
}

static void print_sentences(const struct plan_shown *shown)
{
    const struct plan_voice voice = {stdout, print_name, "", "\n"};

    plan_say_moves(&voice, shown);
    if (shown->request->n_place > 0)
        putchar('\n');
    plan_say_places(&voice, shown);
    if (shown->result->ratio.ratio > 0)
        putchar('\n');
    plan_say_ratio(&voice, shown);
    plan_say_doubts(&voice, shown);
}

static void print_heading(const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;
    char from[40];
    char to[40];
    char window[32];
    char step[32];

    printf("%zu guest%s on %zu host%s, %s to %s, window %s, in steps of %s, risk %g%%\n",
           fleet->n_guests, plural((double)fleet->n_guests), fleet->n_hosts,
           plural((double)fleet->n_hosts), show_time(from, sizeof(from), fleet->from_s, 0),
           show_time(to, sizeof(to), fleet->from_s + (double)fleet->n_times * fleet->step_s, 0),
           show_seconds(window, sizeof(window), shown->window_s),
           show_seconds(step, sizeof(step), fleet->step_s), 100 * shown->request->options.risk);
}

static int print_table(const struct plan_shown *shown)
{
    int rc;

    print_heading(shown);
    rc = print_hosts(shown);
    putchar('\n');
    if (rc == 0)
        rc = print_guests(shown);
    if (rc == 0 && shown->request->consolidate) {
        putchar('\n');
        rc = print_moves(shown);
    }
    if (rc == 0)
        print_sentences(shown);
    return rc;
}

int plan_print(const struct plan_shown *shown, enum show_format format)
{
    json_t *json;

    if (format == SHOW_TABLE)
        return print_table(shown);
    if (format == SHOW_CSV) {
        plan_csv(shown);
        return 0;
    }
    json = plan_json(shown);
    return json ? json_print_line(json) : -ENOMEM;
}
