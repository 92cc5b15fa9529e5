// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file advice.c  See advice.h: the table of guests, and the terms of one. */
#include "show/advice.h"

#include "base/text/units.h"
#include "base/utf8.h"
#include "decide/advice/words.h"
#include "show/table.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define CELL 64

/* --- all guests ------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
    {.name = "DOMAIN", .cut = true},
    {.name = "ASSIGNED", .right = true, .rank = 2},
    {.name = "BALLOON", .right = true, .rank = 3},
    {.name = "RESIDENT", .right = true, .rank = 4},
    {.name = "WSS LOW", .right = true, .rank = 6},
    {.name = "HIGH", .right = true, .rank = 6},
    {.name = "FLOOR", .right = true, .rank = 5},
    {.name = "TARGET", .right = true},
    {.name = "GIVE BACK", .right = true, .rank = 1},
    {.name = "CONFIDENCE", .rank = 7},
    {.name = "WHY", .last = true},
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static const char *dash_or_bytes(char *text, bool known, uint64_t bytes)
{
    return known ? show_bytes(text, CELL, bytes) : "-";
}

static int add_guest(struct table *table, const struct advice *advice)
{
    const struct decide_input *input = &advice->input;
    const struct decide_decision *decision = &advice->decision;
    const struct decide_wss *wss = &input->mid_wss;
    char why[DECIDE_WHY_TEXT];
    char text[8][CELL];
    const char *cells[N_COLUMNS] = {
        advice->guest.name,
        show_bytes(text[0], CELL, input->assigned_bytes),
        dash_or_bytes(text[1], input->actual_bytes != DECIDE_UNKNOWN, input->actual_bytes),
        show_bytes(text[2], CELL, input->resident_bytes),
        dash_or_bytes(text[3], decision->measured, wss->low_bytes),
        dash_or_bytes(text[4], decision->measured, wss->high_bytes),
        show_bytes(text[5], CELL, decision->floor_bytes),
        show_bytes(text[6], CELL, decision->target_bytes),
        show_bytes(text[7], CELL, decision->give_back_bytes),
        decide_confidence_name(decision->confidence),
        decide_why(why, sizeof(why), &decide_policy_default, input, decision),
    };

    return table_row(table, cells);
}

static void print_sum(const struct advice *all, size_t n)
{
    uint64_t give_back = 0;
    size_t vetoed = 0;
    char text[CELL];

    for (size_t i = 0; i < n; i++) {
        give_back += all[i].decision.give_back_bytes;
        vetoed += all[i].decision.vetoes != 0;
    }
    printf("%zu guest%s, %zu of which may not be shrunk; %s could be given back.\n", n,
           n == 1 ? "" : "s", vetoed, show_bytes(text, sizeof(text), give_back));
}

int advice_print_table(const struct advice *all, size_t n)
{
    struct table *table = table_new(columns, N_COLUMNS);
    int rc = table ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_guest(table, &all[i]);
    if (rc == 0) {
        table_print(table, true);
        print_sum(all, n);
    }
    table_free(table);
    return rc;
}

/* --- the terms of one ------------------------------------------------------------------------- */

static const struct table_column term_columns[] = {
    {.name = "TERM"},
    {.name = "VALUE", .right = true},
    {.name = "FROM", .last = true},
};

static int add_term(struct table *table, const char *term, const char *value, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

static int add_term(struct table *table, const char *term, const char *value, const char *format,
                    ...)
{
    char from[256];
    const char *cells[] = {term, value, from};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(from, sizeof(from), format, arguments);
    va_end(arguments);
    return table_row(table, cells);
}

static int add_sizes(struct table *table, const struct advice *advice)
{
    const struct decide_input *input = &advice->input;
    char text[CELL];
    char age[CELL];
    int rc = add_term(table, "M", show_bytes(text, CELL, input->assigned_bytes),
                      "assigned, by vmwssd's record of %s ago",
                      show_seconds(age, sizeof(age), fmax(input->age_s, 0)));

    if (rc == 0 && input->actual_bytes != DECIDE_UNKNOWN)
        rc = add_term(table, "B", show_bytes(text, CELL, input->actual_bytes),
                      "what the balloon leaves it, by libvirt");
    else if (rc == 0)
        rc = add_term(table, "B", show_bytes(text, CELL, input->assigned_bytes),
                      "not known, so taken to be M; --connect asks libvirt");
    if (rc == 0)
        rc = add_term(table, "R", show_bytes(text, CELL, input->resident_bytes),
                      "resident, by that record");
    return rc;
}

/* Writes "10m", and the window used in its place. */
static int add_window(struct table *table, const struct decide_wss *wss, double wanted_s,
                      double factor, uint64_t demand_bytes)
{
    char window[CELL / 2];
    char term[CELL];
    char value[CELL];
    char bounds[2][CELL];
    char other[CELL];
    bool same = fabs(wss->window_s - wanted_s) < 0.0005;

    show_seconds(window, sizeof(window), wanted_s);
    snprintf(term, sizeof(term), "%.2f H(%s)", factor, window);
    if (wss->window_s <= 0)
        return add_term(table, term, "-", "not measured");
    return add_term(table, term, show_bytes(value, CELL, demand_bytes), "WSS %s to %s%s%s%s",
                    show_bytes(bounds[0], CELL, wss->low_bytes),
                    show_bytes(bounds[1], CELL, wss->high_bytes),
                    same ? "" : "; no such window, taken from ",
                    same ? "" : show_seconds(other, sizeof(other), wss->window_s),
                    wss->window_s < wanted_s - 0.0005 ? ", which is too short" : "");
}

static int add_demand(struct table *table, const struct advice *advice)
{
    const struct decide_policy *policy = &decide_policy_default;
    const struct decide_input *input = &advice->input;
    const struct decide_decision *decision = &advice->decision;
    char text[CELL];
    char window[CELL];
    char span[CELL];
    int rc = add_window(table, &input->short_wss, advice->windows.short_s, policy->short_factor,
                        decision->demand_short_bytes);

    if (rc == 0)
        rc = add_window(table, &input->mid_wss, advice->windows.mid_s, policy->mid_factor,
                        decision->demand_mid_bytes);
    if (rc == 0)
        rc = add_window(table, &input->long_wss, advice->windows.long_s, policy->long_factor,
                        decision->demand_long_bytes);
    if (rc == 0)
        rc = add_term(table, "p99(24h)",
                      dash_or_bytes(text, input->day_s > 0, decision->demand_day_bytes),
                      "of H(%s), from %s of records",
                      show_seconds(window, sizeof(window), advice->windows.mid_s),
                      show_seconds(span, sizeof(span), input->day_s));
    if (rc == 0)
        rc = add_term(table, "D", dash_or_bytes(text, decision->measured, decision->demand_bytes),
                      "demand: the largest of these");
    return rc;
}

static int add_floor(struct table *table, const struct advice *advice)
{
    const struct decide_input *input = &advice->input;
    const struct decide_decision *decision = &advice->decision;
    char text[CELL];
    int rc = add_term(table, "W", show_bytes(text, CELL, decision->reserve_bytes),
                      "working reserve: max(5 %% of M, 128 MiB)");

    if (rc == 0 && input->guest.reported && input->guest.available_bytes != DECIDE_UNKNOWN)
        rc = add_term(table, "available", show_bytes(text, CELL, input->guest.available_bytes),
                      "the guest's own statistics, by its %s",
                      guest_stats_source_name(advice->source));
    if (rc == 0 && decision->floor_kind == FLOOR_SWAP)
        rc = add_term(table, "swap", show_bytes(text, CELL, decision->droppable_bytes),
                      "min(half of free swap, cold anonymous memory)");
    if (rc < 0)
        return rc;
    show_bytes(text, CELL, decision->floor_bytes);
    switch (decision->floor_kind) {
    case FLOOR_SWAPLESS:
        return add_term(table, "F", text, "floor: (B - available) + W: no swap, or none known");
    case FLOOR_SWAP:
        return add_term(table, "F", text, "floor: (B - available) - swap + W");
    default:
        return add_term(table, "F", text, "no %sguest statistics: floor is half of assigned",
                        input->guest.reported ? "fresh or credible " : "");
    }
}

static int add_target(struct table *table, const struct advice *advice)
{
    const struct decide_decision *decision = &advice->decision;
    char text[CELL];
    int rc = add_term(table, "T", show_bytes(text, CELL, decision->wanted_bytes),
                      "max(D, F), at most M, in whole MiB%s", decision->panics ? "; panic: M" : "");

    if (rc == 0)
        rc = add_term(table, "band", show_bytes(text, CELL, decision->band_bytes),
                      "max(64 MiB, 2 %% of M, width of the interval): no change is smaller");
    if (rc == 0)
        rc = add_term(table, "target", show_bytes(text, CELL, decision->target_bytes), "%s, by %s",
                      decide_action_name(decision->action), decide_term_name(decision->term));
    if (rc == 0)
        rc = add_term(table, "give back", show_bytes(text, CELL, decision->give_back_bytes),
                      "R - target, if it may be shrunk");
    snprintf(text, sizeof(text), "%.3f", decision->rho);
    if (rc == 0)
        rc = add_term(table, "rho", text, "of several guests the lowest gives first");
    return rc;
}

static void print_head(const struct advice *advice)
{
    const struct decide_decision *decision = &advice->decision;
    char why[DECIDE_WHY_TEXT];
    char target[CELL];
    char assigned[CELL];
    char name[256];

    printf("%s: %s of %s, confidence %s",
           utf8_printable_copy(name, sizeof(name), advice->guest.name),
           show_bytes(target, CELL, decision->target_bytes),
           show_bytes(assigned, CELL, advice->input.assigned_bytes),
           decide_confidence_name(decision->confidence));
    for (unsigned u = 0; u < N_UNSURE; u++)
        if (decision->unsure & 1U << u)
            printf("%s%s", decision->unsure & ((1U << u) - 1) ? ", " : " (", decide_unsure_name(u));
    printf("%s: %s\n", decision->unsure ? ")" : "",
           decide_why(why, sizeof(why), &decide_policy_default, &advice->input, decision));
}

int advice_print_explained(const struct advice *advice)
{
    struct table *table = table_new(term_columns, sizeof(term_columns) / sizeof(term_columns[0]));
    int rc = table ? add_sizes(table, advice) : -ENOMEM;

    if (rc == 0)
        rc = add_demand(table, advice);
    if (rc == 0)
        rc = add_floor(table, advice);
    if (rc == 0)
        rc = add_target(table, advice);
    if (rc == 0) {
        print_head(advice);
        table_print(table, true);
    }
    table_free(table);
    return rc;
}

/* --- the past --------------------------------------------------------------------------------- */

static const struct table_column past_columns[] = {
    {.name = "DOMAIN", .cut = true},
    {.name = "REPLAYED", .right = true, .rank = 5},
    {.name = "DECISIONS", .right = true, .rank = 4},
    {.name = "VETOED", .right = true, .rank = 6},
    {.name = "SCORED", .right = true, .rank = 7},
    {.name = "EXCEEDED", .right = true},
    {.name = "SHARE", .right = true, .rank = 2},
    {.name = "WORST", .right = true, .rank = 1},
    {.name = "SAVED", .right = true},
    {.name = "CHANGES", .right = true, .rank = 8},
    {.name = "REVERSALS", .right = true, .rank = 8},
};
#define N_PAST (sizeof(past_columns) / sizeof(past_columns[0]))

static const char *count_text(char *text, uint64_t n)
{
    snprintf(text, CELL, "%llu", (unsigned long long)n);
    return text;
}

static const char *share_text(char *text, uint64_t part, uint64_t whole)
{
    if (whole == 0)
        return "-";
    snprintf(text, CELL, "%.2f%%", 100 * (double)part / (double)whole);
    return text;
}

static double mean_saved(const struct backtest_result *result)
{
    return result->replayed_s > 0 ? result->saved_byte_s / result->replayed_s : 0;
}

static int add_past(struct table *table, const char *name, const struct backtest_result *result)
{
    char text[10][CELL];
    const char *cells[N_PAST] = {
        name,
        show_seconds(text[0], CELL, result->replayed_s),
        count_text(text[1], result->decisions),
        share_text(text[2], result->vetoed, result->decisions),
        count_text(text[3], result->scored),
        count_text(text[4], result->exceeded),
        share_text(text[5], result->exceeded, result->scored),
        show_bytes(text[6], CELL, result->worst_bytes),
        show_bytes(text[7], CELL, (uint64_t)mean_saved(result)),
        count_text(text[8], result->changes),
        count_text(text[9], result->reversals),
    };

    return table_row(table, cells);
}

/* Means of saved memory are over each guest's own time; the total is a sum of byte seconds. */
static void print_past_sum(const struct replayed *all, size_t n)
{
    uint64_t scored = 0;
    uint64_t exceeded = 0;
    uint64_t changes = 0;
    double saved = 0;
    char window[CELL];

    for (size_t i = 0; i < n; i++) {
        scored += all[i].result.scored;
        exceeded += all[i].result.exceeded;
        changes += all[i].result.changes;
        saved += all[i].result.saved_byte_s;
    }
    printf("Of %llu decisions the WSS of the next %s would have exceeded %llu",
           (unsigned long long)scored,
           n ? show_seconds(window, sizeof(window), all[0].horizon_s) : "hour",
           (unsigned long long)exceeded);
    if (scored > 0)
        printf(" (%.3f%%)", 100 * (double)exceeded / (double)scored);
    printf("; %.1f GiB hours saved by %llu changes.\n", saved / 3600 / (double)(1ULL << 30),
           (unsigned long long)changes);
}

int replayed_print_table(const struct replayed *all, size_t n)
{
    struct table *table = table_new(past_columns, N_PAST);
    int rc = table ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_past(table, all[i].guest.name, &all[i].result);
    if (rc == 0) {
        table_print(table, true);
        print_past_sum(all, n);
    }
    table_free(table);
    return rc;
}
