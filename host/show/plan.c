// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan.c  See plan.h: the tables. */
#include "show/plan.h"

#include "base/bytes.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "show/table.h"
#include "show/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define DAY_S 86400.0
#define MONTH_MINUTES (30 * 24 * 60)
#define CELL 300
#define MAX_COLUMNS 14

/* A row that is being filled, cell by cell. */
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
    {.name = "HOST"},
    {.name = "GUESTS", .right = true},
    {.name = "ASSIGNED", .right = true},
    {.name = "LIMIT", .right = true},
    {.name = "NEED P50", .right = true},
    {.name = "P99", .right = true},
    {.name = "PLANNED", .right = true},
    {.name = "HEADROOM", .right = true},
    {.name = "SHORT", .right = true},
    {.name = "LONGEST", .right = true},
    {.name = "SWAP IF ALL", .right = true},
    {.name = "IF IT FAILS", .right = true},
    {.name = "85% IN", .right = true},
    {.name = "NOTE", .last = true},
};
#define N_HOST_COLUMNS (sizeof(host_columns) / sizeof(host_columns[0]))

static void days_text(char *text, size_t size, double days)
{
    if (days > 3650)
        snprintf(text, size, "never");
    else
        snprintf(text, size, "%.0fd", days);
}

/* "40d (22d-never)" */
static void add_runway(struct row *row, const struct plan_runway *runway)
{
    char middle[32];
    char low[32];
    char high[32];

    if (!runway->known || isinf(runway->low_days)) {
        add_text(row, runway->known ? "never" : "-");
        return;
    }
    days_text(middle, sizeof(middle), runway->days);
    days_text(low, sizeof(low), runway->low_days);
    days_text(high, sizeof(high), runway->high_days);
    snprintf(next_cell(row), CELL, "%s (%s-%s)", middle, low, high);
}

static void add_unplaced(struct row *row, const struct plan_host_result *host)
{
    if (host->n_guests == 0)
        add_text(row, "-");
    else if (host->unplaced == 0)
        add_text(row, "others take it");
    else
        snprintf(next_cell(row), CELL, "%zu stay down", host->unplaced);
}

static const char *host_note(const struct plan_host *host, const struct plan_host_result *result)
{
    if (host->stale)
        return "stale";
    if (result->n_guests == 0)
        return "empty";
    if (result->need.short_share > 0)
        return "has been short";
    return result->planned_bytes > result->limit_bytes ? "short" : "";
}

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
    snprintf(next_cell(&row), CELL, "%.0fm/month", result->need.short_share * MONTH_MINUTES);
    show_seconds(next_cell(&row), CELL, result->need.longest_s);
    add_bytes(&row, result->swap_bytes);
    add_unplaced(&row, result);
    add_runway(&row, &result->runway);
    add_text(&row, host_note(host, result));
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
    {.name = "DOMAIN"},
    {.name = "HOST"},
    {.name = "ASSIGNED", .right = true},
    {.name = "NEED P50", .right = true},
    {.name = "P95", .right = true},
    {.name = "P99", .right = true},
    {.name = "MAX", .right = true},
    {.name = "RIGHT SIZE", .right = true},
    {.name = "HISTORY", .right = true},
    {.name = "NOTE", .last = true},
};
#define N_GUEST_COLUMNS (sizeof(guest_columns) / sizeof(guest_columns[0]))

static void add_guest_note(struct row *row, const struct plan_guest *guest)
{
    const bool by_less = guest->size_window_s > 0 && guest->size_window_s < 3600;
    char window[32];

    show_seconds(window, sizeof(window), guest->size_window_s);
    snprintf(next_cell(row), CELL, "%s%s%s%s%s%s%s", guest->unmeasured ? "not measured " : "",
             guest->suspended ? "suspended " : "", guest->unwatched ? "not watched " : "",
             guest->pinned ? "pinned " : "", guest->apart ? "apart " : "",
             by_less ? "size of window " : "", by_less ? window : "");
}

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
    add_guest_note(&row, guest);
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
    {.name = "MOVE"},
    {.name = "FROM"},
    {.name = "TO"},
    {.name = "NEED P99", .right = true},
    {.name = "GAIN", .last = true},
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
    struct table *table;
    int rc = 0;

    if (!shown->request->consolidate)
        return 0;
    putchar('\n');
    if (result->moves.n > 0) {
        table = table_new(move_columns, N_MOVE_COLUMNS);
        rc = table ? 0 : -ENOMEM;
        for (size_t m = 0; rc == 0 && m < result->moves.n; m++)
            rc = add_move(table, shown->fleet, &result->moves.move[m]);
        if (rc == 0)
            table_print(table, true);
        table_free(table);
    }
    printf("%zu of %zu host%s could be emptied by %zu move%s; short at that risk: %zu before, %zu "
           "after.\n",
           result->emptied, shown->fleet->n_hosts, plural((double)shown->fleet->n_hosts),
           result->moves.n, plural((double)result->moves.n), result->short_before,
           result->short_after);
    return rc;
}

/* --- sentences -------------------------------------------------------------------------------- */

static void print_places(const struct plan_shown *shown)
{
    const struct plan_request *request = shown->request;
    double how_many = 0;
    char name[256];
    char size[32];

    if (request->n_place == 0)
        return;
    putchar('\n');
    if (shown->fleet->n_guests == 0) {
        printf(
            "There is no guest that a new one could be like: where it would fit is not known.\n");
        return;
    }
    for (size_t i = 0; i < request->n_place; i++) {
        const size_t host = shown->result->place[i];

        show_bytes(size, sizeof(size), (uint64_t)request->place_bytes[i]);
        if (host == PLAN_NOWHERE)
            printf("A new guest of %s fits on no host.\n", size);
        else
            printf("A new guest of %s fits best on %s.\n", size,
                   utf8_printable_copy(name, sizeof(name), shown->fleet->hosts[host].name));
    }
    for (size_t h = 0; h < shown->fleet->n_hosts; h++)
        how_many += shown->result->hosts[h].how_many;
    show_bytes(size, sizeof(size), (uint64_t)request->place_bytes[0]);
    printf("As they are, the hosts have room for %.0f more guest%s of %s like those there.\n",
           how_many, plural(how_many), size);
}

/* "a (3.0 days), b (1.5 days): with less than 14 ..." */
static void print_short_histories(const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;
    char name[256];
    size_t n = 0;

    for (size_t h = 0; h < fleet->n_hosts; h++)
        if (shown->result->hosts[h].n_guests > 0 && plan_is_short(fleet->hosts[h].days))
            printf("%s%s (%.1f days)", n++ ? ", " : "",
                   utf8_printable_copy(name, sizeof(name), fleet->hosts[h].name),
                   fleet->hosts[h].days);
    if (n > 0)
        printf(": with less than %d days of history the need is the mean and 5 standard "
               "deviations, and there is no trend.\n",
               PLAN_DAYS_ENOUGH);
}

/* The mean of the hosts that have guests. */
static double missed_share(const struct plan_shown *shown)
{
    double missed = 0;
    double n = 0;

    for (size_t h = 0; h < shown->fleet->n_hosts; h++)
        if (shown->result->hosts[h].n_guests > 0) {
            missed += shown->fleet->hosts[h].missed_share;
            n++;
        }
    return n > 0 ? missed / n : 0;
}

static void print_doubts(const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;
    const double risk = shown->request->options.risk;
    char name[256];
    char time[40];

    for (size_t h = 0; h < fleet->n_hosts; h++)
        if (fleet->hosts[h].stale)
            printf("%s: no record since %s: nothing is moved from or to it.\n",
                   utf8_printable_copy(name, sizeof(name), fleet->hosts[h].name),
                   show_time(time, sizeof(time), fleet->hosts[h].last_s, 0));
    if (shown->result->unknown > 0.005)
        printf("Of %.1f%% of the guests' time nothing is kept: there each counts as at the same "
               "time of another week or day.\n",
               100 * shown->result->unknown);
    if (missed_share(shown) > 0.005)
        printf("Of %.1f%% of the minutes in steps of %d minutes nothing is kept, though of others "
               "there is: a peak in them is not in the plan.\n",
               100 * missed_share(shown), fleet->step_s / 60);
    print_short_histories(shown);
    if ((double)fleet->n_times * risk < 1)
        printf("%zu steps are too few to know what happens for %g%% of the time.\n", fleet->n_times,
               100 * risk);
}

static void print_ratio(const struct plan_shown *shown)
{
    const struct plan_ratio *ratio = &shown->result->ratio;
    const double risk = 100 * shown->request->options.risk;

    if (ratio->ratio > 0)
        printf("\nOvercommit ratio at a risk of %g%%: %s%.2f (Nova: ram_allocation_ratio; "
               "KubeVirt: memoryOvercommit %.0f).\n",
               risk, ratio->at_least ? "at least " : "", ratio->ratio, floor(100 * ratio->ratio));
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
    if (rc == 0)
        rc = print_moves(shown);
    if (rc < 0)
        return rc;
    print_places(shown);
    print_ratio(shown);
    print_doubts(shown);
    return 0;
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
