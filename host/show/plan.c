// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/plan.h"

#include "base/plural.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/note.h"
#include "show/plan_words.h"
#include "show/sheet.h"

#include <math.h>
#include <stdio.h>

/* --- hosts ------------------------------------------------------------------------------------ */

static const struct sheet_column host_columns[] = {
    {"host", {.name = "HOST", .cut = true}},
    {"guests", {.name = "GUESTS", .right = true, .rank = 9}},
    {"ram_bytes", {.name = "ASSIGNED", .right = true, .rank = 6}},
    {"limit", {.name = "LIMIT", .right = true, .rank = 4}},
    {"need_p50_bytes", {.name = "NEED P50", .right = true, .rank = 7}},
    {"need_p99_bytes", {.name = "P99", .right = true, .rank = 3}},
    {"planned_bytes", {.name = "PLANNED", .right = true}},
    {"headroom_bytes", {.name = "HEADROOM", .right = true, .rank = 1}},
    {"short", {.name = "SHORT", .right = true, .rank = 2}},
    {"longest_short_seconds", {.name = "LONGEST", .right = true, .rank = 8}},
    {"swap_bytes", {.name = "SWAP IF ALL", .right = true, .rank = 10}},
    {"fails", {.name = "IF IT FAILS", .right = true, .rank = 5}},
    {"full", {.name = "85% IN", .right = true, .rank = 5}},
    {"note", {.name = "NOTE", .last = true, .rank = 4}},
};

/* The columns if there are moves, with what the moves change. */
static const struct sheet_column moved_columns[] = {
    {"host", {.name = "HOST", .cut = true}},
    {"guests", {.name = "GUESTS", .right = true, .rank = 9}},
    {"guests_after", {.name = "AFTER", .right = true, .rank = 8}},
    {"ram_bytes", {.name = "ASSIGNED", .right = true, .rank = 6}},
    {"limit", {.name = "LIMIT", .right = true, .rank = 4}},
    {"need_p50_bytes", {.name = "NEED P50", .right = true, .rank = 7}},
    {"need_p99_bytes", {.name = "P99", .right = true, .rank = 3}},
    {"planned_bytes", {.name = "PLANNED", .right = true}},
    {"planned_after_bytes", {.name = "AFTER", .right = true, .rank = 1}},
    {"headroom_bytes", {.name = "HEADROOM", .right = true, .rank = 8}},
    {"short", {.name = "SHORT", .right = true, .rank = 2}},
    {"longest_short_seconds", {.name = "LONGEST", .right = true, .rank = 8}},
    {"swap_bytes", {.name = "SWAP IF ALL", .right = true, .rank = 10}},
    {"fails", {.name = "IF IT FAILS", .right = true, .rank = 5}},
    {"fails_after", {.name = "AFTER", .right = true, .rank = 5}},
    {"full", {.name = "85% IN", .right = true, .rank = 6}},
    {"note", {.name = "NOTE", .last = true, .rank = 4}},
};

static void fill_need(struct sheet *sheet, const struct plan_need *need)
{
    sheet_bytes_real(sheet, "need_p50_bytes", need->p50_bytes);
    sheet_bytes_real(sheet, "need_p95_bytes", need->p95_bytes);
    sheet_bytes_real(sheet, "need_p99_bytes", need->p99_bytes);
    sheet_bytes_real(sheet, "need_max_bytes", need->max_bytes);
    sheet_bytes_real(sheet, "need_risk_bytes", need->risk_bytes);
    sheet_real(sheet, "short_share", need->short_share);
    sheet_seconds(sheet, "longest_short_seconds", need->longest_s);
    sheet_cell(sheet, "short", "%.0fm/month", plan_month_minutes(need->short_share));
}

static void fill_runway(struct sheet *sheet, const struct plan_runway *runway)
{
    char text[100];

    sheet_cell(sheet, "full", "%s", plan_runway_text(text, sizeof(text), runway));
    if (!runway->known) {
        sheet_unknown(sheet, "runway");
        return;
    }
    sheet_group(sheet, "runway");
    sheet_bytes_real(sheet, "level_bytes", runway->level_bytes);
    sheet_real(sheet, "slope_bytes_day", runway->slope_bytes_day);
    sheet_real(sheet, "days", runway->days);
    sheet_real(sheet, "days_low", runway->low_days);
    sheet_real(sheet, "days_high", runway->high_days);
    sheet_close(sheet);
}

static void fill_fails(struct sheet *sheet, const char *guests, const char *ended,
                       const struct plan_host *host, const struct plan_fallen *fails)
{
    if (host->partial) {
        sheet_unknown(sheet, guests);
        sheet_unknown(sheet, ended);
        return;
    }
    sheet_count(sheet, guests, fails->guests);
    sheet_bool(sheet, ended, fails->past);
}

static void fill_host(struct sheet *sheet, const struct plan_shown *shown, size_t h)
{
    const struct plan_host *host = &shown->fleet->hosts[h];
    const struct plan_host_result *result = &shown->result->hosts[h];
    const bool modelled = shown->request->n_place > 0 && shown->fleet->n_guests > 0 &&
                          !host->partial;
    char text[100];

    sheet_row(sheet);
    sheet_scope(sheet, "host");
    sheet_text(sheet, "host", host->name);
    sheet_time(sheet, "last", host->last_s, 0);
    sheet_real(sheet, "days", host->days);
    sheet_bool(sheet, "stale", host->stale);
    sheet_bool(sheet, "partial", host->partial);
    sheet_real(sheet, "missed_share", host->missed_share);
    sheet_count(sheet, "guests", result->n_guests);
    sheet_count(sheet, "guests_after", result->n_guests_after);
    sheet_count(sheet, "ended_guests", shown->fleet->past[h].n_guests);
    sheet_bytes_real(sheet, "ended_max_bytes", shown->fleet->past[h].max_bytes);
    sheet_bytes_real(sheet, "ram_bytes", result->ram_bytes);
    sheet_bytes(sheet, "capacity_bytes", host->capacity_bytes);
    sheet_bytes(sheet, "reserve_bytes", host->reserve_bytes);
    sheet_cell_bytes(sheet, "limit", fmax(result->limit_bytes, 0));
    fill_need(sheet, &result->need);
    sheet_bytes_real(sheet, "planned_bytes", result->planned_bytes);
    sheet_bytes_real(sheet, "planned_after_bytes", result->planned_after_bytes);
    sheet_bytes_real(sheet, "headroom_bytes", result->limit_bytes - result->planned_bytes);
    sheet_bytes_real(sheet, "swap_bytes", result->swap_bytes);
    fill_fails(sheet, "unplaced_guests", "unplaced_ended", host, &result->fails);
    fill_fails(sheet, "unplaced_guests_after", "unplaced_ended_after", host, &result->fails_after);
    sheet_bool(sheet, "drain", host->drain);
    sheet_count(sheet, "not_apart_guests", result->together);
    sheet_count(sheet, "not_apart_guests_after", result->together_after);
    sheet_real(sheet, "cpus", shown->request->cpus ? result->cpus : NAN);
    sheet_real(sheet, "cpus_after", shown->request->cpus ? result->cpus_after : NAN);
    sheet_real(sheet, "cpu_limit", host->cpus > 0 ? host->cpus : NAN);
    sheet_count(sheet, "parted_guests", result->parted);
    sheet_count(sheet, "parted_guests_after", result->parted_after);
    sheet_bytes_real(sheet, "unplaced_bytes", host->partial ? NAN : result->fails.bytes);
    fill_runway(sheet, &result->runway);
    sheet_real(sheet, "more_guests", modelled ? result->how_many : NAN);
    sheet_real(sheet, "more_guests_after", modelled ? result->how_many_after : NAN);
    sheet_cell(sheet, "fails", "%s", plan_unplaced_text(text, sizeof(text), result, false));
    sheet_cell(sheet, "fails_after", "%s", plan_unplaced_text(text, sizeof(text), result, true));
    sheet_cell(sheet, "note", "%s", plan_host_note(host, result));
}

/* --- guests ----------------------------------------------------------------------------------- */

static const struct sheet_column guest_columns[] = {
    {"domain", {.name = "DOMAIN", .cut = true}},
    {"host", {.name = "HOST", .rank = 2}},
    {"ram_bytes", {.name = "ASSIGNED", .right = true, .rank = 3}},
    {"need_p50_bytes", {.name = "NEED P50", .right = true, .rank = 6}},
    {"need_p95_bytes", {.name = "P95", .right = true, .rank = 5}},
    {"need_p99_bytes", {.name = "P99", .right = true, .rank = 1}},
    {"need_max_bytes", {.name = "MAX", .right = true, .rank = 7}},
    {"right_size_bytes", {.name = "RIGHT SIZE", .right = true}},
    {"history", {.name = "HISTORY", .right = true, .rank = 8}},
    {"note", {.name = "NOTE", .last = true, .rank = 4}},
};

static void fill_guest(struct sheet *sheet, const struct plan_fleet *fleet,
                       const struct plan_guest *guest)
{
    const double size = guest->right_size_bytes;
    char text[100];

    sheet_row(sheet);
    sheet_scope(sheet, "guest");
    sheet_text(sheet, "domain", guest->name);
    sheet_text(sheet, "uuid", guest->uuid);
    sheet_text(sheet, "host", fleet->hosts[guest->host].name);
    sheet_bool(sheet, "measured", !guest->unmeasured);
    sheet_bool(sheet, "suspended", guest->suspended);
    sheet_bool(sheet, "watched", !guest->unwatched);
    sheet_bool(sheet, "pinned", guest->pinned);
    sheet_bool(sheet, "apart", guest->apart != 0);
    sheet_bool(sheet, "together", guest->together != 0);
    sheet_bytes(sheet, "ram_bytes", guest->ram_bytes);
    sheet_real(sheet, "cpus", guest->cpus);
    sheet_real(sheet, "days", guest->days);
    sheet_bytes_real(sheet, "need_p50_bytes", guest->p50_bytes);
    sheet_bytes_real(sheet, "need_p95_bytes", guest->p95_bytes);
    sheet_bytes_real(sheet, "need_p99_bytes", guest->p99_bytes);
    sheet_bytes_real(sheet, "need_max_bytes", guest->max_bytes);
    sheet_bytes_real(sheet, "need_before_bytes",
                     guest->before.bytes > 0 ? guest->before.bytes : NAN);
    sheet_real(sheet, "trend_bytes_day", guest->trend_bytes_day);
    sheet_real(sheet, "factor", guest->factor);
    sheet_bytes_real(sheet, "right_size_bytes", size > 0 ? size : NAN);
    sheet_real(sheet, "right_size_window_s", size > 0 ? guest->size_window_s : NAN);
    sheet_real(sheet, "right_size_risk", size > 0 ? guest->right_size_risk : NAN);
    sheet_cell(sheet, "history", "%.1fd", guest->days);
    sheet_cell(sheet, "note", "%s", plan_guest_note(text, sizeof(text), guest));
}

/* --- moves ------------------------------------------------------------------------------------ */

static const struct sheet_column move_columns[] = {
    {"domain", {.name = "MOVE", .cut = true}},
    {"from", {.name = "FROM"}},
    {"to", {.name = "TO"}},
    {"need", {.name = "NEED P99", .right = true, .rank = 3}},
    {"migration_takes", {.name = "TAKES", .right = true, .rank = 1}},
    {"migration_sends", {.name = "SENDS", .right = true, .rank = 4}},
    {"migration_hour", {.name = "WHEN", .rank = 1}},
    {"gain", {.name = "GAIN", .last = true, .rank = 2}},
};

static void fill_seconds(struct sheet *sheet, const char *const keys[3],
                         const struct migrate_range *seconds)
{
    sheet_real(sheet, keys[0], sheet_rounded(seconds->value, 1e-3));
    sheet_real(sheet, keys[1], sheet_rounded(seconds->low, 1e-3));
    sheet_real(sheet, keys[2], sheet_rounded(seconds->high, 1e-3));
}

static void fill_price(struct sheet *sheet, const struct plan_price *price)
{
    static const char *const total[] = {"total_seconds", "total_low_seconds", "total_high_seconds"};
    static const char *const downtime[] = {"downtime_seconds", "downtime_low_seconds",
                                           "downtime_high_seconds"};
    char text[100];

    if (!price) {
        sheet_unknown(sheet, "migration");
        return;
    }
    sheet_group(sheet, "migration");
    sheet_text(sheet, "verdict", migrate_verdict_name(price->verdict));
    sheet_text(sheet, "hour", plan_hour_text(text, sizeof(text), price->hour));
    fill_seconds(sheet, total, &price->total_s);
    fill_seconds(sheet, downtime, &price->downtime_s);
    sheet_bytes_real(sheet, "sent_bytes", price->sent_bytes.value);
    sheet_bytes_real(sheet, "sent_low_bytes", price->sent_bytes.low);
    sheet_bytes_real(sheet, "sent_high_bytes", price->sent_bytes.high);
    sheet_count(sheet, "curves", price->n_curves);
    sheet_cell(sheet, "takes", "%s", plan_takes_text(text, sizeof(text), price));
    sheet_cell_bytes(sheet, "sends", price->sent_bytes.value);
    sheet_close(sheet);
}

static void fill_move(struct sheet *sheet, const struct plan_fleet *fleet,
                      const struct plan_move *move)
{
    const struct plan_guest *guest = &fleet->guests[move->guest];
    const char *from = fleet->hosts[move->from].name;

    sheet_row(sheet);
    sheet_scope(sheet, "move");
    sheet_text(sheet, "domain", guest->name);
    sheet_text(sheet, "uuid", guest->uuid);
    sheet_text(sheet, sheet->format == SHOW_CSV ? "host" : "from", from);
    sheet_text(sheet, "to", fleet->hosts[move->to].name);
    sheet_text(sheet, "why", plan_why_texts[move->why].why);
    sheet_cell_bytes(sheet, "need", guest->p99_bytes);
    fill_price(sheet, plan_price_of(fleet, move->guest));
    sheet_cell(sheet, "gain", "%s %s", plan_why_texts[move->why].gain, from);
}

static void fill_moves(struct sheet *sheet, const struct plan_shown *shown)
{
    if (!plan_has_moves(shown->request)) {
        sheet_unknown(sheet, "moves");
        return;
    }
    sheet_note(sheet, "%s", "");
    sheet_list(sheet, "moves", move_columns, COUNT(move_columns));
    for (size_t m = 0; m < shown->result->moves.n; m++)
        fill_move(sheet, shown->fleet, &shown->result->moves.move[m]);
    sheet_close(sheet);
}

/* --- the fleet -------------------------------------------------------------------------------- */

static void fill_places(struct sheet *sheet, const struct plan_shown *shown)
{
    sheet_list(sheet, "place", NULL, 0);
    for (size_t i = 0; i < shown->request->n_place; i++) {
        const size_t host = shown->result->place[i];

        sheet_row(sheet);
        sheet_bytes_real(sheet, "ram_bytes", shown->request->place_bytes[i]);
        sheet_text(sheet, "host", host == PLAN_NOWHERE ? NULL : shown->fleet->hosts[host].name);
    }
    sheet_close(sheet);
}

static void fill_ratio(struct sheet *sheet, const struct plan_ratio *ratio)
{
    if (ratio->ratio <= 0) {
        sheet_unknown(sheet, "overcommit");
        return;
    }
    sheet_group(sheet, "overcommit");
    sheet_real(sheet, "ratio", ratio->ratio);
    sheet_bool(sheet, "at_least", ratio->at_least);
    sheet_close(sheet);
}

static void fill_terms(struct sheet *sheet, const struct migrate_terms *terms)
{
    const struct migrate_path path = migrate_path_of(terms, true);

    sheet_group(sheet, "migration");
    sheet_real(sheet, "bandwidth_bytes_per_second", path.bandwidth_bytes_s.value);
    sheet_real(sheet, "link_bytes_per_second", path.link_bytes_s.value);
    sheet_real(sheet, "allowed_downtime_s", path.downtime_s);
    sheet_bool(sheet, "auto_converge", path.auto_converge);
    sheet_close(sheet);
}

static void fill_head(struct sheet *sheet, const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;
    const double to_s = fleet->from_s + (double)fleet->n_times * fleet->step_s;
    const double risk = shown->request->options.risk;

    sheet_note(sheet, "%zu guest%s on %zu host%s, %s to %s, window %s, in steps of %s, risk %g%%",
               fleet->n_guests, plural((double)fleet->n_guests), fleet->n_hosts,
               plural((double)fleet->n_hosts), TIME_TEXT(fleet->from_s, 0), TIME_TEXT(to_s, 0),
               SECONDS_TEXT(shown->window_s), SECONDS_TEXT(fleet->step_s), 100 * risk);
    sheet_time(sheet, "from", fleet->from_s, 0);
    sheet_time(sheet, "to", to_s, 0);
    sheet_count(sheet, "step_s", (uint64_t)fleet->step_s);
    sheet_real(sheet, "window_s", shown->window_s);
    sheet_real(sheet, "risk", risk);
    sheet_real(sheet, "size_quantile", shown->size_quantile);
    sheet_real(sheet, "size_margin", fleet->size_margin);
    sheet_bool(sheet, "running_only", shown->request->options.running_only);
    sheet_real(sheet, "unknown", shown->result->unknown);
    fill_terms(sheet, &shown->request->terms);
}

static void fill(struct sheet *sheet, const struct plan_shown *shown)
{
    const struct plan_fleet *fleet = shown->fleet;

    fill_head(sheet, shown);
    if (shown->result->moves.n > 0)
        sheet_list(sheet, "hosts", moved_columns, COUNT(moved_columns));
    else
        sheet_list(sheet, "hosts", host_columns, COUNT(host_columns));
    for (size_t h = 0; h < fleet->n_hosts; h++)
        fill_host(sheet, shown, h);
    sheet_close(sheet);
    sheet_note(sheet, "%s", "");
    sheet_list(sheet, "guests", guest_columns, COUNT(guest_columns));
    for (size_t g = 0; g < fleet->n_guests; g++)
        fill_guest(sheet, fleet, &fleet->guests[g]);
    sheet_close(sheet);
    fill_moves(sheet, shown);
    fill_places(sheet, shown);
    fill_ratio(sheet, &shown->result->ratio);
    sheet_count(sheet, "emptied", shown->result->emptied);
    sheet_count(sheet, "short_before", shown->result->short_before);
    sheet_count(sheet, "short_after", shown->result->short_after);
    sheet_count(sheet, "spare", shown->request->options.spare);
    if (plan_is_partial(fleet))
        return;
    sheet_bool(sheet, "spared_before", shown->result->spared_before);
    sheet_bool(sheet, "spared_after", shown->result->spared_after);
    sheet_bool(sheet, "spared_with_new", shown->result->spared_with_new);
}

/* --- sentences -------------------------------------------------------------------------------- */

static void print_name(FILE *out, const char *name)
{
    char text[256];

    fputs(utf8_printable_copy(text, sizeof(text), name), out);
}

static void print_sentences(const struct plan_shown *shown)
{
    const struct plan_voice voice = {note_stream(), print_name, "", "\n"};

    plan_say_moves(&voice, shown);
    if (shown->request->n_place > 0)
        putchar('\n');
    plan_say_places(&voice, shown);
    if (shown->result->ratio.ratio > 0)
        putchar('\n');
    plan_say_ratio(&voice, shown);
    plan_say_doubts(&voice, shown);
}

/* The CSV has a line for each host, guest and move. */
static const char *const csv_names[] = {
    "scope",
    "host",
    "domain",
    "uuid",
    "to",
    "guests",
    "ram_bytes",
    "capacity_bytes",
    "reserve_bytes",
    "need_p50_bytes",
    "need_p95_bytes",
    "need_p99_bytes",
    "need_max_bytes",
    "planned_bytes",
    "short_share",
    "longest_short_seconds",
    "swap_bytes",
    "unplaced_guests",
    "unplaced_guests_after",
    "runway_days",
    "runway_days_low",
    "runway_days_high",
    "days",
    "right_size_bytes",
    "right_size_window_s",
    "right_size_risk",
    "migration_verdict",
    "migration_hour",
    "migration_total_seconds",
    "migration_total_low_seconds",
    "migration_total_high_seconds",
    "migration_downtime_seconds",
    "migration_sent_bytes",
    NULL,
};

int plan_print(const struct plan_shown *shown, enum show_format format)
{
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.plan.v1", csv_names);
    fill(&sheet, shown);
    if (format == SHOW_TABLE)
        print_sentences(shown);
    return sheet_end(&sheet);
}
