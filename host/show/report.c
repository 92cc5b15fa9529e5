// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/report.h"

#include "base/plural.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/host_memory.h"
#include "show/note.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const char *level_name(const struct report *report)
{
    return report->level_s == BUCKET_HOUR ? "hour" : "minute";
}

/* --- guests ----------------------------------------------------------------------------------- */

static const struct sheet_column columns[] = {
    {"domain", {.name = "DOMAIN", .cut = true}},
    {"ram_bytes", {.name = "ASSIGNED", .right = true, .rank = 2}},
    {"resident_bytes", {.name = "RESIDENT", .right = true, .rank = 4}},
    {"wss_p50_bytes", {.name = "WSS P50", .right = true, .rank = 5}},
    {"wss_p95_bytes", {.name = "WSS P95", .right = true}},
    {"wss_p99_bytes", {.name = "P99", .right = true, .rank = 3}},
    {"wss_max_bytes", {.name = "MAX", .right = true, .rank = 7}},
    {"share", {.name = "OF ASSIGNED", .right = true, .rank = 8}},
    {"reclaimable_bytes", {.name = "GIVE BACK", .right = true, .rank = 1}},
    {"read_mostly", {.name = "READ-MOSTLY", .right = true, .rank = 10}},
    {"measured_seconds", {.name = "MEASURED", .right = true, .rank = 9}},
    {"running_or_last", {.name = "LAST", .rank = 6}},
};

/* The CSV has a line for each guest, and one for the host. */
static const char *const csv_names[] = {
    "scope",
    "host",
    "domain",
    "uuid",
    "from",
    "to",
    "window_s",
    "risk",
    "running",
    "records",
    "measured_seconds",
    "ram_bytes",
    "resident_bytes",
    "unmeasurable_bytes",
    "wss_p50_bytes",
    "wss_p95_bytes",
    "wss_p99_bytes",
    "wss_max_bytes",
    "wss_risk_bytes",
    "reclaimable_bytes",
    "capacity_bytes",
    "shortage",
    "guest_bytes",
    "fit",
    "short_seconds",
    "longest_short_seconds",
    "short_seconds_low",
    "short_seconds_high",
    "not_measured_guests",
    "not_measured_bytes",
    "read_mostly_low_bytes",
    "read_mostly_high_bytes",
    NULL,
};

static void fill_span(struct sheet *sheet, const struct report *report)
{
    sheet_text(sheet, "host", report->host);
    sheet_time(sheet, "from", report->from_s, 0);
    sheet_time(sheet, "to", report->to_s, 0);
}

static void fill_options(struct sheet *sheet, const struct report *report)
{
    sheet_real(sheet, "window_s", report->options.window_s);
    sheet_real(sheet, "risk", report->options.risk);
}

/* Begins a line of CSV with the fields that all lines repeat. */
static void begin_line(struct sheet *sheet, const char *scope, const struct report *report)
{
    sheet_scope(sheet, scope);
    if (sheet->format == SHOW_CSV) {
        fill_span(sheet, report);
        fill_options(sheet, report);
    }
}

static void fill_share(struct sheet *sheet, double p95_bytes, uint64_t ram_bytes)
{
    if (isnan(p95_bytes))
        sheet_cell(sheet, "share", "-");
    else
        sheet_cell(sheet, "share", "%.1f%%", ram_bytes ? 100 * p95_bytes / (double)ram_bytes : 0);
}

static void fill_read_mostly(struct sheet *sheet, const struct report_guest *guest)
{
    sheet_bytes_real(sheet, "read_mostly_low_bytes", guest->read_mostly_low);
    sheet_bytes_real(sheet, "read_mostly_high_bytes", guest->read_mostly_high);
    if (isnan(guest->read_mostly_low))
        sheet_cell(sheet, "read_mostly", "-");
    else
        sheet_cell(sheet, "read_mostly", "%s to %s", BYTES_TEXT((uint64_t)guest->read_mostly_low),
                   BYTES_TEXT((uint64_t)guest->read_mostly_high));
}

static void fill_guest(struct sheet *sheet, const struct report *report,
                       const struct report_guest *guest)
{
    const bool known = guest->records > 0;

    sheet_row(sheet);
    begin_line(sheet, "guest", report);
    sheet_text(sheet, "domain", guest->guest.name);
    sheet_text(sheet, "uuid", guest->guest.uuid);
    sheet_bool(sheet, "running", guest->running);
    sheet_bool(sheet, "measured", !guest->not_measured);
    sheet_time(sheet, "last", guest->last_s, 0);
    sheet_count(sheet, "records", guest->records);
    sheet_seconds(sheet, "measured_seconds", guest->measured_s);
    sheet_bytes(sheet, "ram_bytes", guest->ram_bytes);
    sheet_bytes(sheet, "resident_bytes", guest->resident_bytes);
    sheet_bytes(sheet, "unmeasurable_bytes", guest->unmeasurable_bytes);
    sheet_bytes_real(sheet, "wss_p50_bytes", known ? guest->wss_p50 : NAN);
    sheet_bytes_real(sheet, "wss_p95_bytes", known ? guest->wss_p95 : NAN);
    sheet_bytes_real(sheet, "wss_p99_bytes", known ? guest->wss_p99 : NAN);
    sheet_bytes_real(sheet, "wss_max_bytes", known ? guest->wss_max : NAN);
    sheet_bytes_real(sheet, "wss_risk_bytes", known ? guest->wss_risk : NAN);
    fill_share(sheet, known ? guest->wss_p95 : NAN, guest->ram_bytes);
    sheet_bytes(sheet, "reclaimable_bytes",
                known && !guest->not_measured ? guest->reclaimable_bytes : UINT64_MAX);
    fill_read_mostly(sheet, guest);
    sheet_cell(sheet, "running_or_last", "%s",
               !guest->running       ? TIME_TEXT(guest->last_s, 0)
               : guest->not_measured ? "not measured"
                                     : "running");
}

/* --- all together ----------------------------------------------------------------------------- */

/* If the minutes of some hours are not kept, the shortage is not known exactly, but has bounds. */
static void fill_shortage(struct sheet *sheet, const struct report *report)
{
    const uint64_t capacity_bytes = report->options.capacity_bytes;
    const bool exact = capacity_bytes && !report->shortage.rough;

    sheet_bytes(sheet, "capacity_bytes", capacity_bytes ? capacity_bytes : UINT64_MAX);
    sheet_real(sheet, "shortage", exact ? report->short_share : NAN);
    sheet_real(sheet, "short_seconds", exact ? report->shortage.short_s : NAN);
    sheet_real(sheet, "short_seconds_low", capacity_bytes ? report->shortage.low_s : NAN);
    sheet_real(sheet, "short_seconds_high", capacity_bytes ? report->shortage.high_s : NAN);
    sheet_real(sheet, "longest_short_seconds", exact ? report->shortage.longest_s : NAN);
}

static bool has_fit(const struct report *report)
{
    return report->options.capacity_bytes && report->options.guest_bytes;
}

static void fill_total(struct sheet *sheet, const struct report *report)
{
    sheet_total(sheet, "total");
    begin_line(sheet, "host", report);
    sheet_cell(sheet, "domain", "all together");
    sheet_bytes(sheet, "ram_bytes", report->ram_bytes);
    sheet_bytes(sheet, "resident_bytes", report->resident_bytes);
    sheet_bytes(sheet, "reclaimable_bytes", report->reclaimable_bytes);
    sheet_bytes_real(sheet, "wss_p50_bytes", report->total_p50);
    sheet_bytes_real(sheet, "wss_p95_bytes", report->total_p95);
    sheet_bytes_real(sheet, "wss_p99_bytes", report->total_p99);
    sheet_bytes_real(sheet, "wss_max_bytes", report->total_max);
    sheet_bytes_real(sheet, "wss_risk_bytes", report->total_risk);
    fill_share(sheet, report->total_p95, report->ram_bytes);
    fill_shortage(sheet, report);
    sheet_count(sheet, "not_measured_guests", report->n_assumed);
    sheet_bytes_real(sheet, "not_measured_bytes", report->assumed_bytes);
    if (sheet->format == SHOW_CSV && has_fit(report)) {
        sheet_bytes(sheet, "guest_bytes", report->options.guest_bytes);
        sheet_bytes_real(sheet, "fit", report->fit);
    }
}

static void fill_fit(struct sheet *sheet, const struct report *report)
{
    if (!has_fit(report)) {
        sheet_unknown(sheet, "fit");
        return;
    }
    sheet_group(sheet, "fit");
    sheet_bytes(sheet, "guest_bytes", report->options.guest_bytes);
    sheet_count(sheet, "guests", (uint64_t)report->fit);
    sheet_close(sheet);
}

/* --- sentences -------------------------------------------------------------------------------- */

static void print_head(const struct report *report)
{
    char host[256];
    char memory[HOST_MEMORY_TEXT];

    note("%s, %s to %s, window %s, from each %s\n",
         utf8_printable_copy(host, sizeof(host), report->host), TIME_TEXT(report->from_s, 0),
         TIME_TEXT(report->to_s, 0), SECONDS_TEXT(report->options.window_s), level_name(report));
    if (isatty(STDOUT_FILENO) && *host_memory_of(memory, report->host, report->ram_bytes))
        note("host now: %s\n", memory);
}

/* The sums include assumed needs; this line says so even if the terminal is narrow. */
void report_say_gaps(const struct report_voice *voice, const struct report *report)
{
    if (report->n_assumed > 0)
        fprintf(voice->out,
                "%s%zu guest%s could not be measured at some time: all of the memory that was "
                "resident then, up to %s, counts as needed.%s",
                voice->begin, report->n_assumed, plural((double)report->n_assumed),
                BYTES_TEXT((uint64_t)report->assumed_bytes), voice->end);
    if (report_gap_share(report) > 0.005)
        fprintf(voice->out,
                "%sFor %.1f%s of that time there is no record: it is in none of these figures.%s",
                voice->begin, 100 * report_gap_share(report), voice->percent, voice->end);
}

void report_say_need(const struct report_voice *voice, const struct report *report)
{
    const struct report_options *options = &report->options;

    if (!options->capacity_bytes)
        return;
    fprintf(voice->out, "Of %s all guests together need %s or less for %g%s of the time",
            BYTES_TEXT(options->capacity_bytes), BYTES_TEXT((uint64_t)report->total_risk),
            100 * (1 - options->risk), voice->percent);
    if (report->short_share > 0)
        fprintf(voice->out, ", and more than there is for %s%.3g%s",
                report->shortage.rough ? "about " : "", 100 * report->short_share, voice->percent);
    fputs(".", voice->out);
}

void report_say_few(const struct report_voice *voice, const struct report *report)
{
    if (report->options.capacity_bytes && (double)report->n_times * report->options.risk < 1)
        fprintf(voice->out,
                "%sThat is from %zu %s%s: too few to know what happens for %g%s of the time.%s",
                voice->begin, report->n_times, level_name(report), plural((double)report->n_times),
                100 * report->options.risk, voice->percent, voice->end);
}

static void print_shortage(const struct report *report)
{
    if (report->shortage.rough)
        note("It was short in between %.0f and %.0f of %.0f minutes: of some hours the minutes "
             "themselves are not kept.\n",
             report->shortage.low_s / 60, report->shortage.high_s / 60, report->known_s / 60);
    else if (report->shortage.short_s > 0)
        note("It was short in %.0f of %.0f minutes, for up to %.0f at a stretch.\n",
             report->shortage.short_s / 60, report->known_s / 60, report->shortage.longest_s / 60);
}

static void print_sentences(const struct report *report)
{
    const struct report_voice voice = {note_stream(), "%", "", "\n"};
    const struct report_options *options = &report->options;

    report_say_gaps(&voice, report);
    if (!options->capacity_bytes)
        return;
    report_say_need(&voice, report);
    note("\n");
    print_shortage(report);
    if (options->guest_bytes)
        note("%.0f%s more guest%s of %s like these fit%s at a risk of %g%%.\n", report->fit,
             report->fit >= 10000 ? " or" : "", plural(report->fit),
             BYTES_TEXT(options->guest_bytes), report->fit == 1 ? "s" : "", 100 * options->risk);
    report_say_few(&voice, report);
}

/* --- the report ------------------------------------------------------------------------------- */

int report_print(const struct report *report, enum show_format format)
{
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.report.v1", csv_names);
    if (format == SHOW_TABLE)
        print_head(report);
    fill_span(&sheet, report);
    sheet_text(&sheet, "level", level_name(report));
    sheet_count(&sheet, "times", report->n_times);
    sheet_real(&sheet, "gap_share", report_gap_share(report));
    fill_options(&sheet, report);
    sheet_list(&sheet, "guests", columns, COUNT(columns));
    for (size_t g = 0; g < report->n_guests; g++)
        fill_guest(&sheet, report, &report->guests[g]);
    fill_total(&sheet, report);
    sheet_close(&sheet);
    fill_fit(&sheet, report);
    if (format == SHOW_TABLE)
        print_sentences(report);
    return sheet_end(&sheet);
}
