// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file balloon_report.c  See balloon_command.h: the page to read before vmwss-balloond may act,
 * and after. */
#include "base/array.h"
#include "decide/advice/advising.h"
#include "decide/journal/journal.h"
#include "programs/vmwss/balloon_command.h"
#include "show/sheet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_S 3600.0
#define GIB ((double)(1ULL << 30))

struct line {
    struct journal_entry last;
    struct journal_sum sum;
    struct replayed replayed;
    uint64_t short_minutes;
};

struct reporting {
    const struct balloon_options *options;
    double from_s, to_s;
    struct line *lines;
    size_t n;
    struct line *now; /* the guest that is replayed */
    uint8_t *minutes; /* bits of the span's minutes in which any guest was short */
    size_t n_minutes;
};

/* --- reading ---------------------------------------------------------------------------------- */

static int see_last(const struct journal_entry *entry, void *context)
{
    struct reporting *reporting = context;
    return array_put(&reporting->lines, &reporting->n, &(struct line){.last = *entry},
                     sizeof(*reporting->lines));
}

static int see_sum(const struct journal_sum *sum, void *context)
{
    struct reporting *reporting = context;

    for (size_t i = 0; i < reporting->n; i++)
        if (!strcmp(reporting->lines[i].last.uuid, sum->uuid))
            reporting->lines[i].sum = *sum;
    return 0;
}

static void see_short(int64_t start_s, void *context)
{
    struct reporting *reporting = context;
    const double minute = ((double)start_s - reporting->from_s) / 60;

    reporting->now->short_minutes++;
    if (minute >= 0 && minute < (double)reporting->n_minutes)
        reporting->minutes[(size_t)minute / 8] |= (uint8_t)(1U << (size_t)minute % 8);
}

static uint64_t minutes_of_anyone(const struct reporting *reporting)
{
    uint64_t n = 0;

    for (size_t m = 0; m < reporting->n_minutes; m++)
        n += reporting->minutes[m / 8] >> m % 8 & 1;
    return n;
}

/* A guest that is not in the history has no backtest. */
static int replay_one(struct reporting *reporting, struct advising *advising, struct store *store,
                      struct error *error)
{
    struct line *line = reporting->now;
    struct history_guest found;
    struct error missing = {0};
    int rc = history_find(store, line->last.uuid, &found, &missing);

    if (rc == -ENOENT)
        return 0;
    if (rc < 0)
        return error_set(error, rc, "%s", missing.text);
    return advising_replay(advising, store, &found, reporting->to_s - reporting->from_s,
                           &line->replayed, error);
}

static int replay_all(struct reporting *reporting, struct error *error)
{
    struct advising advising = {.windows = reporting->options->windows,
                                .day_min_s = ADVISING_DAY_S,
                                .see_short = see_short,
                                .context = reporting};
    struct store *store = NULL;
    int rc = history_open(reporting->options->kept.database, &store, error);

    if (rc == 0)
        rc = advising_begin(&advising, NULL, error);
    for (size_t i = 0; rc == 0 && i < reporting->n; i++) {
        reporting->now = &reporting->lines[i];
        rc = replay_one(reporting, &advising, store, error);
    }
    advising_end(&advising);
    store_close(store);
    return rc;
}

/* The last decision holds as long as the guest is in the history. */
static void hold_last(struct reporting *reporting, struct line *line)
{
    struct journal_sum *sum = &line->sum;
    double until_s = line->replayed.to_s > 0 ? line->replayed.to_s : sum->last_s;
    double lasts_s = fmax(fmin(until_s, reporting->to_s) - fmax(sum->last_s, reporting->from_s), 0);

    sum->taken_byte_s += lasts_s * sum->last_taken_bytes;
    sum->would_byte_s += lasts_s * sum->last_would_bytes;
    sum->host_short_s += lasts_s * sum->last_host_short;
}

/* Guests of before the span that the history has no minute of are left out. */
static void leave_out_former(struct reporting *reporting)
{
    size_t n = 0;

    for (size_t i = 0; i < reporting->n; i++) {
        hold_last(reporting, &reporting->lines[i]);
        if (reporting->lines[i].last.time_s >= reporting->from_s ||
            reporting->lines[i].replayed.result.decisions > 0)
            reporting->lines[n++] = reporting->lines[i];
    }
    reporting->n = n;
}

static int read_all(struct reporting *reporting, struct journal *journal, struct error *error)
{
    int rc = journal_latest(journal, see_last, reporting, error);

    if (rc == -ENOMEM)
        return error_set(error, rc, "out of memory");
    if (rc == 0 && reporting->n == 0)
        return error_set(error, -ENODATA, "the journal has no decision");
    if (rc == 0)
        rc = journal_sums(journal, reporting->from_s, see_sum, reporting, error);
    if (rc == 0)
        rc = replay_all(reporting, error);
    if (rc == 0)
        leave_out_former(reporting);
    return rc;
}

/* --- printing --------------------------------------------------------------------------------- */

static const struct sheet_column columns[] = {
    {"domain", {.name = "DOMAIN", .cut = true}},
    {"acts", {.name = "ACTS"}},
    {"actual_bytes", {.name = "ACTUAL", .right = true, .rank = 3}},
    {"goal_bytes", {.name = "GOAL", .right = true}},
    {"shrinks", {.name = "SHRINKS", .right = true, .rank = 5}},
    {"grows", {.name = "GROWTHS", .right = true, .rank = 5}},
    {"short_minutes", {.name = "SHORT MIN", .right = true}},
    {"taken", {.name = "TAKEN GIBH", .right = true}},
    {"would", {.name = "WOULD GIBH", .right = true}},
    {"saved", {.name = "BACKTEST GIBH", .right = true, .rank = 2}},
    {"exceeded", {.name = "EXCEEDED", .right = true}},
    {"why", {.name = "LAST", .last = true}},
};

static double gib_hours(double byte_s)
{
    return byte_s / HOUR_S / GIB;
}

static double exceeded_share(const struct backtest_result *result)
{
    return result->scored > 0 ? (double)result->exceeded / (double)result->scored : (double)NAN;
}

static void fill_line(struct sheet *sheet, const struct line *line)
{
    const struct backtest_result *result = &line->replayed.result;

    sheet_row(sheet);
    sheet_text(sheet, "domain", line->last.name);
    sheet_text(sheet, "uuid", line->last.uuid);
    sheet_bool(sheet, "acts", line->sum.acted > 0);
    sheet_bytes(sheet, "assigned_bytes", line->last.assigned_bytes);
    sheet_bytes(sheet, "actual_bytes", line->last.actual_bytes);
    sheet_bytes(sheet, "goal_bytes", line->last.goal_bytes);
    sheet_bytes(sheet, "asking_bytes", line->last.asking_bytes);
    sheet_count(sheet, "decisions", line->sum.decisions);
    sheet_count(sheet, "shrinks", line->sum.shrinks);
    sheet_count(sheet, "grows", line->sum.grows);
    sheet_count(sheet, "shortages", line->sum.shortages);
    sheet_count(sheet, "short_minutes", line->short_minutes);
    sheet_real(sheet, "taken_byte_seconds", line->sum.taken_byte_s);
    sheet_cell(sheet, "taken", "%.1f", gib_hours(line->sum.taken_byte_s));
    sheet_real(sheet, "would_byte_seconds", line->sum.would_byte_s);
    sheet_cell(sheet, "would", "%.1f", gib_hours(line->sum.would_byte_s));
    sheet_real(sheet, "backtest_byte_seconds", result->saved_byte_s);
    sheet_cell(sheet, "saved", "%.1f", gib_hours(result->saved_byte_s));
    sheet_real(sheet, "exceeded_share", exceeded_share(result));
    if (result->scored > 0)
        sheet_cell(sheet, "exceeded", "%.2f%%", 100 * exceeded_share(result));
    sheet_text(sheet, "why", line->last.why);
}

struct totals {
    double taken, would, saved, host_short_s;
    double asking_bytes;
    size_t acting, unsafe, unknown, unasked;
};

static struct totals totals_of(const struct reporting *reporting)
{
    struct totals totals = {0};

    for (size_t i = 0; i < reporting->n; i++) {
        const struct line *line = &reporting->lines[i];
        const double share = exceeded_share(&line->replayed.result);

        totals.taken += gib_hours(line->sum.taken_byte_s);
        totals.would += gib_hours(line->sum.would_byte_s);
        totals.saved += gib_hours(line->replayed.result.saved_byte_s);
        totals.host_short_s = fmax(totals.host_short_s, line->sum.host_short_s);
        totals.acting += line->sum.acted > 0;
        totals.unasked += line->last.asking_bytes != DECIDE_UNKNOWN;
        totals.asking_bytes += line->last.asking_bytes != DECIDE_UNKNOWN
                                   ? (double)line->last.asking_bytes
                                   : 0;
        totals.unknown += isnan(share) ? 1 : 0;
        totals.unsafe += share > decide_policy_default.past.exceeded_max;
    }
    return totals;
}

static void print_notes(const struct sheet *sheet, const struct reporting *reporting,
                        const struct totals *totals)
{
    sheet_note(sheet, "%s", "");
    if (totals->acting > 0)
        sheet_note(sheet, "Taken: %.1f GiB hours from %zu of %zu guests.", totals->taken,
                   totals->acting, reporting->n);
    sheet_note(sheet,
               "A dry run would have taken %.1f GiB hours at its goals; the mode proactive, by the "
               "backtest, %.1f.",
               totals->would, totals->saved);
    sheet_note(sheet,
               "Some guest was short of memory in %llu of %zu minutes, the host (level soft or "
               "below) for %.0f minutes.",
               (unsigned long long)minutes_of_anyone(reporting), reporting->n_minutes,
               totals->host_short_s / 60);
    sheet_note(sheet,
               "Backtest: %zu of %zu guests needed more than their target within an hour of more "
               "than %g%% of the decisions; %zu have no backtest yet. Nothing is taken from these.",
               totals->unsafe, reporting->n, 100 * decide_policy_default.past.exceeded_max,
               totals->unknown);
    if (totals->unasked > 0)
        sheet_note(
            sheet,
            "Statistics: the balloon drivers of %zu of %zu guests are not asked, so nothing is "
            "taken from them; asked, they could give at most %.1f GiB now.",
            totals->unasked, reporting->n, totals->asking_bytes / GIB);
}

static int print_all(const struct reporting *reporting)
{
    const struct totals totals = totals_of(reporting);
    struct sheet sheet;

    sheet_begin(&sheet, reporting->options->kept.format, "vmwss.balloon_report.v1", NULL);
    sheet_time(&sheet, "from", reporting->from_s, 0);
    sheet_time(&sheet, "to", reporting->to_s, 0);
    sheet_text(&sheet, "mode", reporting->n > 0 ? reporting->lines[0].last.mode : NULL);
    sheet_count(&sheet, "short_minutes", minutes_of_anyone(reporting));
    sheet_real(&sheet, "host_short_s", totals.host_short_s);
    sheet_list(&sheet, "guests", columns, COUNT(columns));
    for (size_t i = 0; i < reporting->n; i++)
        fill_line(&sheet, &reporting->lines[i]);
    sheet_close(&sheet);
    print_notes(&sheet, reporting, &totals);
    return sheet_end(&sheet);
}

int balloon_report(const struct balloon_options *options, struct error *error)
{
    struct reporting reporting = {.options = options};
    struct journal *journal = NULL;
    int rc = kept_span_check(&options->kept);

    if (rc < 0)
        return error_set(error, rc, "--since is not in the past");
    kept_span(&options->kept, &reporting.from_s, &reporting.to_s);
    reporting.n_minutes = (size_t)((reporting.to_s - reporting.from_s) / 60);
    reporting.minutes = calloc(reporting.n_minutes / 8 + 1, 1);
    rc = reporting.minutes ? journal_open_read(options->journal, &journal, error)
                           : error_set(error, -ENOMEM, "out of memory");
    if (rc == 0)
        rc = read_all(&reporting, journal, error);
    if (rc == 0)
        rc = print_all(&reporting);
    journal_close(journal);
    free(reporting.lines);
    free(reporting.minutes);
    return rc;
}
