// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file advice_terms.c  See advice.h: the terms of one guest's advice. */
#include "show/advice.h"

#include "base/text/units.h"
#include "base/utf8.h"
#include "decide/advice/words.h"
#include "show/note.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define CELL 64

static const struct sheet_column columns[] = {
    {"term", {.name = "TERM"}},
    {"value", {.name = "VALUE", .right = true}},
    {"from", {.name = "FROM", .last = true}},
};

static void add_term(struct sheet *sheet, const char *term, double bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* @p bytes NAN: unknown */
static void add_term(struct sheet *sheet, const char *term, double bytes, const char *format, ...)
{
    char from[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(from, sizeof(from), format, arguments);
    va_end(arguments);
    sheet_row(sheet);
    sheet_text(sheet, "term", term);
    sheet_bytes_real(sheet, "value", bytes);
    sheet_text(sheet, "from", from);
}

static void add_sizes(struct sheet *sheet, const struct decide_input *input)
{
    const bool known = input->actual_bytes != DECIDE_UNKNOWN;

    add_term(sheet, "M", (double)input->assigned_bytes, "assigned, by vmwssd's record of %s ago",
             SECONDS_TEXT(fmax(input->age_s, 0)));
    add_term(sheet, "B", (double)(known ? input->actual_bytes : input->assigned_bytes), "%s",
             known ? "what the balloon leaves it, by libvirt"
                   : "not known, so taken to be M; --connect asks libvirt");
    add_term(sheet, "R", (double)input->resident_bytes, "resident, by that record");
}

/* Writes "10m", and the window that was used instead, if it is another. */
static void add_window(struct sheet *sheet, const struct decide_wss *wss, double wanted_s,
                       double factor, uint64_t demand_bytes)
{
    char window[CELL / 2];
    char term[CELL];
    bool bounded = (double)demand_bytes + 1 < factor * (double)wss->high_bytes;
    bool same = fabs(wss->window_s - wanted_s) < 0.0005;

    show_seconds(window, sizeof(window), wanted_s);
    snprintf(term, sizeof(term), "%.2f H(%s)", factor, window);
    if (wss->window_s <= 0)
        add_term(sheet, term, NAN, "not measured");
    else
        add_term(sheet, term, (double)demand_bytes, "WSS %s to %s%s%s%s%s",
                 BYTES_TEXT(wss->low_bytes), BYTES_TEXT(wss->high_bytes),
                 same ? "" : "; no such window, taken from ",
                 same ? "" : SECONDS_TEXT(wss->window_s),
                 wss->window_s < wanted_s - 0.0005 ? ", which is too short" : "",
                 bounded ? "; at most H + W, or M" : "");
}

static void add_demand(struct sheet *sheet, const struct advice *advice)
{
    const struct decide_policy *policy = &decide_policy_default;
    const struct decide_input *input = &advice->input;
    const struct decide_decision *decision = &advice->decision;

    add_window(sheet, &input->short_wss, advice->windows.short_s, policy->short_factor,
               decision->demand_short_bytes);
    add_window(sheet, &input->mid_wss, advice->windows.mid_s, policy->mid_factor,
               decision->demand_mid_bytes);
    add_window(sheet, &input->long_wss, advice->windows.long_s, policy->long_factor,
               decision->demand_long_bytes);
    add_term(sheet, "max(24h)", input->day_s > 0 ? (double)decision->demand_day_bytes : NAN,
             "of H(%s), from %s of records", SECONDS_TEXT(advice->windows.mid_s),
             SECONDS_TEXT(input->day_s));
    add_term(sheet, "D", decision->measured ? (double)decision->demand_bytes : NAN,
             "demand: the largest of these");
}

static void add_floor(struct sheet *sheet, const struct advice *advice)
{
    const struct decide_input *input = &advice->input;
    const struct decide_decision *decision = &advice->decision;
    const double floor_bytes = (double)decision->floor_bytes;

    add_term(sheet, "W", (double)decision->reserve_bytes,
             "working reserve: max(5 %% of M, 128 MiB)");
    if (input->guest.reported && input->guest.available_bytes != DECIDE_UNKNOWN)
        add_term(sheet, "available", (double)input->guest.available_bytes,
                 "the guest's own statistics, by its %s", guest_stats_source_name(advice->source));
    if (decision->floor_kind == FLOOR_SWAP)
        add_term(sheet, "swap", (double)decision->droppable_bytes,
                 "min(half of free swap, cold anonymous memory)");
    switch (decision->floor_kind) {
    case FLOOR_SWAPLESS:
        add_term(sheet, "F", floor_bytes, "floor: (B - available) + W: no swap, or none known");
        break;
    case FLOOR_SWAP:
        add_term(sheet, "F", floor_bytes, "floor: (B - available) - swap + W");
        break;
    default:
        add_term(sheet, "F", floor_bytes, "no %sguest statistics: floor is half of assigned",
                 input->guest.reported ? "fresh or credible " : "");
    }
}

static void add_past(struct sheet *sheet, const struct decide_past *past, uint64_t past_bytes)
{
    add_term(
        sheet, "past", past->span_s > 0 ? (double)past_bytes : NAN,
        "what it needed in %s of records; too little in %llu of %llu decisions of the backtest",
        SECONDS_TEXT(past->span_s), (unsigned long long)past->exceeded,
        (unsigned long long)past->scored);
}

static void add_target(struct sheet *sheet, const struct decide_decision *decision)
{
    add_term(sheet, "T", (double)decision->wanted_bytes,
             "max(D, F, past), at most M, in whole MiB%s", decision->panics ? "; panic: M" : "");
    add_term(sheet, "band", (double)decision->band_bytes,
             "max(64 MiB, 2 %% of M, width of the interval): no change is smaller");
    add_term(sheet, "target", (double)decision->target_bytes, "%s, by %s",
             decide_action_name(decision->action), decide_term_name(decision->term));
    add_term(sheet, "give back", (double)decision->give_back_bytes,
             "R - target, if it may be shrunk");
    add_term(sheet, "rho", NAN, "of several guests the lowest gives first");
    sheet_cell(sheet, "value", "%.3f", decision->rho);
}

static void print_head(const struct advice *advice)
{
    const struct decide_decision *decision = &advice->decision;
    char why[DECIDE_WHY_TEXT];
    char name[256];

    note("%s: %s of %s, confidence %s", utf8_printable_copy(name, sizeof(name), advice->guest.name),
         BYTES_TEXT(decision->target_bytes), BYTES_TEXT(advice->input.assigned_bytes),
         decide_confidence_name(decision->confidence));
    for (unsigned u = 0; u < N_UNSURE; u++)
        if (decision->unsure & 1U << u)
            note("%s%s", decision->unsure & ((1U << u) - 1) ? ", " : " (", decide_unsure_name(u));
    note("%s: %s\n", decision->unsure ? ")" : "",
         decide_why(why, sizeof(why), &decide_policy_default, &advice->input, decision));
}

int advice_print_explained(const struct advice *advice)
{
    struct sheet sheet;

    print_head(advice);
    sheet_begin(&sheet, SHOW_TABLE, NULL, NULL);
    sheet_list(&sheet, NULL, columns, COUNT(columns));
    add_sizes(&sheet, &advice->input);
    add_demand(&sheet, advice);
    add_floor(&sheet, advice);
    add_past(&sheet, &advice->input.past, advice->decision.memory.past_bytes);
    add_target(&sheet, &advice->decision);
    sheet_close(&sheet);
    return sheet_end(&sheet);
}
