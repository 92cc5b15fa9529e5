// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file advice.c  See advice.h: the table of all guests, and the backtest. */
#include "show/advice.h"

#include "base/plural.h"
#include "base/text/units.h"
#include "decide/advice/words.h"
#include "show/note.h"

#include <math.h>
#include <stdio.h>

#define CELL 64

/* --- all guests ------------------------------------------------------------------------------- */

static const struct sheet_column columns[] = {
    {"domain", {.name = "DOMAIN", .cut = true}},
    {"assigned_bytes", {.name = "ASSIGNED", .right = true, .rank = 2}},
    {"actual_bytes", {.name = "BALLOON", .right = true, .rank = 3}},
    {"resident_bytes", {.name = "RESIDENT", .right = true, .rank = 4}},
    {"low", {.name = "WSS LOW", .right = true, .rank = 6}},
    {"high", {.name = "HIGH", .right = true, .rank = 6}},
    {"floor_bytes", {.name = "FLOOR", .right = true, .rank = 5}},
    {"target_bytes", {.name = "TARGET", .right = true}},
    {"give_back_bytes", {.name = "GIVE BACK", .right = true, .rank = 1}},
    {"confidence", {.name = "CONFIDENCE", .rank = 7}},
    {"why", {.name = "WHY", .last = true}},
};

static void fill_window(struct sheet *sheet, const struct decide_wss *wss, double wanted_s,
                        double factor, uint64_t demand_bytes)
{
    bool known = wss->window_s > 0;

    sheet_row(sheet);
    sheet_real(sheet, "wanted_s", wanted_s);
    sheet_real(sheet, "window_s", known ? wss->window_s : NAN);
    sheet_bytes(sheet, "wss_low_bytes", known ? wss->low_bytes : DECIDE_UNKNOWN);
    sheet_bytes(sheet, "wss_high_bytes", known ? wss->high_bytes : DECIDE_UNKNOWN);
    sheet_real(sheet, "factor", factor);
    sheet_bytes(sheet, "demand_bytes", known ? demand_bytes : DECIDE_UNKNOWN);
}

static void fill_windows(struct sheet *sheet, const struct advice *advice)
{
    const struct decide_policy *policy = &decide_policy_default;
    const struct decide_input *input = &advice->input;
    const struct decide_decision *decision = &advice->decision;

    sheet_list(sheet, "windows", NULL, 0);
    fill_window(sheet, &input->short_wss, advice->windows.short_s, policy->short_factor,
                decision->demand_short_bytes);
    fill_window(sheet, &input->mid_wss, advice->windows.mid_s, policy->mid_factor,
                decision->demand_mid_bytes);
    fill_window(sheet, &input->long_wss, advice->windows.long_s, policy->long_factor,
                decision->demand_long_bytes);
    sheet_close(sheet);
    sheet_cell_bytes(sheet, "low", decision->measured ? (double)input->mid_wss.low_bytes : NAN);
    sheet_cell_bytes(sheet, "high", decision->measured ? (double)input->mid_wss.high_bytes : NAN);
}

static void fill_sizes(struct sheet *sheet, const struct advice *advice)
{
    const struct decide_input *input = &advice->input;
    const struct decide_decision *decision = &advice->decision;

    sheet_real(sheet, "age_s", input->age_s);
    sheet_real(sheet, "up_s", input->up_s);
    sheet_bytes(sheet, "assigned_bytes", input->assigned_bytes);
    sheet_bytes(sheet, "actual_bytes", input->actual_bytes);
    sheet_bytes(sheet, "resident_bytes", input->resident_bytes);
    sheet_bytes(sheet, "unmeasurable_bytes", input->unmeasurable_bytes);
    sheet_bytes(sheet, "target_bytes", decision->target_bytes);
    sheet_bytes(sheet, "give_back_bytes", decision->give_back_bytes);
    sheet_text(sheet, "action", decide_action_name(decision->action));
    sheet_text(sheet, "term", decide_term_name(decision->term));
    sheet_text(sheet, "confidence", decide_confidence_name(decision->confidence));
}

static void fill_terms(struct sheet *sheet, const struct advice *advice)
{
    const struct decide_input *input = &advice->input;
    const struct decide_decision *decision = &advice->decision;
    bool used = decision->floor_kind != FLOOR_HALF;

    fill_windows(sheet, advice);
    sheet_bytes(sheet, "day_max_bytes", input->day_s > 0 ? input->day_bytes : DECIDE_UNKNOWN);
    sheet_real(sheet, "day_s", input->day_s);
    sheet_bytes(sheet, "demand_bytes",
                decision->measured ? decision->demand_bytes : DECIDE_UNKNOWN);
    sheet_bytes(sheet, "reserve_bytes", decision->reserve_bytes);
    sheet_text(sheet, "floor", decide_floor_name(decision->floor_kind));
    sheet_text(sheet, "statistics", guest_stats_source_name(advice->source));
    sheet_bytes(sheet, "used_bytes", used ? decision->used_bytes : DECIDE_UNKNOWN);
    sheet_bytes(sheet, "swappable_bytes", used ? decision->droppable_bytes : DECIDE_UNKNOWN);
    sheet_bytes(sheet, "floor_bytes", decision->floor_bytes);
    sheet_bytes(sheet, "learned_bytes", decision->memory.learned_bytes);
    sheet_bytes(sheet, "past_bytes",
                input->past.span_s > 0 ? decision->memory.past_bytes : DECIDE_UNKNOWN);
    sheet_real(sheet, "past_s", input->past.span_s);
    sheet_count(sheet, "backtest_scored", input->past.scored);
    sheet_count(sheet, "backtest_exceeded", input->past.exceeded);
    sheet_bytes(sheet, "wanted_bytes", decision->wanted_bytes);
    sheet_bytes(sheet, "band_bytes", decision->band_bytes);
    sheet_real(sheet, "rho", decision->rho);
}

static void fill_guest(struct sheet *sheet, const struct history_guest *guest)
{
    sheet_guest(sheet, guest->host, guest->name, guest->uuid);
}

static void fill_advice(struct sheet *sheet, const struct advice *advice)
{
    const struct decide_decision *decision = &advice->decision;
    char why[DECIDE_WHY_TEXT];

    sheet_row(sheet);
    sheet_time(sheet, "time", advice->time_s, 0);
    fill_guest(sheet, &advice->guest);
    fill_sizes(sheet, advice);
    sheet_bits(sheet, "vetoes", decision->vetoes, decide_veto_name);
    sheet_bits(sheet, "panics", decision->panics, decide_panic_name);
    sheet_bits(sheet, "unsure", decision->unsure, decide_unsure_name);
    sheet_text(sheet, "why",
               decide_why(why, sizeof(why), &decide_policy_default, &advice->input, decision));
    fill_terms(sheet, advice);
}

static void print_sum(const struct advice *all, size_t n)
{
    uint64_t give_back = 0;
    size_t vetoed = 0;

    for (size_t i = 0; i < n; i++) {
        give_back += all[i].decision.give_back_bytes;
        vetoed += all[i].decision.vetoes != 0;
    }
    note("%zu guest%s, %zu of which may not be shrunk; %s could be given back.\n", n,
         plural((double)n), vetoed, BYTES_TEXT(give_back));
}

int advice_print(const struct advice *all, size_t n, enum show_format format)
{
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.advice.v1", NULL);
    sheet_list(&sheet, NULL, columns, COUNT(columns));
    for (size_t i = 0; i < n; i++)
        fill_advice(&sheet, &all[i]);
    sheet_close(&sheet);
    if (format == SHOW_TABLE)
        print_sum(all, n);
    return sheet_end(&sheet);
}

/* --- the past --------------------------------------------------------------------------------- */

static const struct sheet_column past_columns[] = {
    {"domain", {.name = "DOMAIN", .cut = true}},
    {"replayed_s", {.name = "REPLAYED", .right = true, .rank = 5}},
    {"decisions", {.name = "DECISIONS", .right = true, .rank = 4}},
    {"vetoed_share", {.name = "VETOED", .right = true, .rank = 6}},
    {"scored", {.name = "SCORED", .right = true, .rank = 7}},
    {"exceeded", {.name = "EXCEEDED", .right = true}},
    {"share", {.name = "SHARE", .right = true, .rank = 2}},
    {"worst_bytes", {.name = "WORST", .right = true, .rank = 1}},
    {"saved", {.name = "SAVED", .right = true}},
    {"changes", {.name = "CHANGES", .right = true, .rank = 8}},
    {"reversals", {.name = "REVERSALS", .right = true, .rank = 8}},
};

/* Shares of rare events need two digits. */
static void cell_share(struct sheet *sheet, const char *key, uint64_t part, uint64_t whole)
{
    if (whole == 0)
        sheet_cell(sheet, key, "-");
    else
        sheet_cell(sheet, key, "%.2f%%", 100 * (double)part / (double)whole);
}

static void fill_past(struct sheet *sheet, const struct replayed *replayed)
{
    const struct backtest_result *result = &replayed->result;
    const double mean = result->replayed_s > 0 ? result->saved_byte_s / result->replayed_s : NAN;

    sheet_row(sheet);
    fill_guest(sheet, &replayed->guest);
    sheet_time(sheet, "from", replayed->from_s, 0);
    sheet_time(sheet, "to", replayed->to_s, 0);
    sheet_real(sheet, "horizon_s", replayed->horizon_s);
    sheet_seconds(sheet, "replayed_s", result->replayed_s);
    sheet_count(sheet, "decisions", result->decisions);
    sheet_count(sheet, "vetoed", result->vetoed);
    cell_share(sheet, "vetoed_share", result->vetoed, result->decisions);
    sheet_count(sheet, "scored", result->scored);
    sheet_count(sheet, "exceeded", result->exceeded);
    sheet_real(sheet, "exceeded_share",
               result->scored ? (double)result->exceeded / (double)result->scored : NAN);
    cell_share(sheet, "share", result->exceeded, result->scored);
    sheet_count(sheet, "size_exceeded", result->size_exceeded);
    sheet_bytes(sheet, "worst_bytes", result->worst_bytes);
    sheet_real(sheet, "saved_byte_seconds", result->saved_byte_s);
    sheet_real(sheet, "saved_mean_bytes", mean);
    sheet_cell_bytes(sheet, "saved", mean);
    sheet_count(sheet, "changes", result->changes);
    sheet_count(sheet, "shrinks", result->shrinks);
    sheet_count(sheet, "grows", result->grows);
    sheet_count(sheet, "reversals", result->reversals);
}

/* Saved memory is the mean over each guest's own time; the total is in byte seconds. */
static void print_past_sum(const struct replayed *all, size_t n)
{
    uint64_t scored = 0;
    uint64_t exceeded = 0;
    uint64_t changes = 0;
    double saved = 0;

    for (size_t i = 0; i < n; i++) {
        scored += all[i].result.scored;
        exceeded += all[i].result.exceeded;
        changes += all[i].result.changes;
        saved += all[i].result.saved_byte_s;
    }
    note("Of %llu decisions the WSS of the next %s would have exceeded %llu",
         (unsigned long long)scored, n ? SECONDS_TEXT(all[0].horizon_s) : "hour",
         (unsigned long long)exceeded);
    if (scored > 0)
        note(" (%.3f%%)", 100 * (double)exceeded / (double)scored);
    note("; %.1f GiB hours saved by %llu changes.\n", saved / 3600 / (double)(1ULL << 30),
         (unsigned long long)changes);
}

int replayed_print(const struct replayed *all, size_t n, enum show_format format)
{
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.backtest.v1", NULL);
    sheet_list(&sheet, NULL, past_columns, COUNT(past_columns));
    for (size_t i = 0; i < n; i++)
        fill_past(&sheet, &all[i]);
    sheet_close(&sheet);
    if (format == SHOW_TABLE)
        print_past_sum(all, n);
    return sheet_end(&sheet);
}
