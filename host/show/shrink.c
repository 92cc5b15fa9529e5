// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/shrink.h"

#include "base/bytes.h"
#include "base/text/units.h"
#include "show/note.h"

#include <math.h>
#include <stdio.h>

static const char *end_name(enum shrink_end end)
{
    static const char *const names[] = {"goes-on", "complaint",   "floor", "no-more",
                                        "silent",  "interrupted", "failed"};

    return names[end];
}

/* --- the knee --------------------------------------------------------------------------------- */

static const struct shrink_step *complaining(const struct shrink_report *report)
{
    const struct shrink_step *last = report->n > 0 ? &report->steps[report->n - 1] : NULL;

    return report->end == SHRINK_COMPLAINT && last && last->complaints ? last : NULL;
}

uint64_t shrink_knee_low(const struct shrink_report *report)
{
    const struct shrink_step *last = complaining(report);

    return last ? smaller(last->actual_bytes, last->target_bytes) : 0;
}

uint64_t shrink_knee_high(const struct shrink_report *report)
{
    return complaining(report) && report->n > 1 ? report->steps[report->n - 2].actual_bytes : 0;
}

/* --- the sheet -------------------------------------------------------------------------------- */

static const struct sheet_column columns[] = {
    {"actual_bytes", {.name = "SIZE", .right = true}},
    {"available_bytes", {.name = "AVAILABLE", .right = true, .rank = 1}},
    {"psi_some", {.name = "PSI SOME", .right = true, .rank = 2}},
    {"refaults", {.name = "REFAULTS", .right = true, .rank = 3}},
    {"swap_in", {.name = "SWAP IN", .right = true, .rank = 4}},
    {"faults", {.name = "MAJOR FAULTS", .right = true, .rank = 5}},
    {"complaints", {.name = "COMPLAINTS", .last = true}},
};

static void cell_rate(struct sheet *sheet, const char *key, double bytes_s)
{
    if (isnan(bytes_s))
        sheet_cell(sheet, key, "-");
    else /* the guest's own figure may be anything */
        sheet_cell(sheet, key, "%s/s",
                   BYTES_TEXT(bytes_s < 0x1p63 ? (uint64_t)bytes_s : 1ULL << 63));
}

static void fill_step(struct sheet *sheet, const struct shrink_step *step)
{
    const struct shrink_reading *reading = &step->reading;

    sheet_row(sheet);
    sheet_bytes(sheet, "target_bytes", step->target_bytes);
    sheet_bytes(sheet, "actual_bytes", step->actual_bytes);
    sheet_bytes(sheet, "available_bytes", reading->available_bytes);
    sheet_share(sheet, "psi_some", reading->psi_some);
    sheet_share(sheet, "psi_full", reading->psi_full);
    sheet_real(sheet, "refault_bytes_s", reading->refault_bytes_s);
    sheet_real(sheet, "swap_in_bytes_s", reading->swap_in_bytes_s);
    sheet_real(sheet, "major_faults_s", reading->major_faults_s);
    cell_rate(sheet, "refaults", reading->refault_bytes_s);
    cell_rate(sheet, "swap_in", reading->swap_in_bytes_s);
    if (isnan(reading->major_faults_s))
        sheet_cell(sheet, "faults", "-");
    else
        sheet_cell(sheet, "faults", "%.0f/s", reading->major_faults_s);
    sheet_bits(sheet, "complaints", step->complaints, shrink_complaint_name);
}

static void fill_windows(struct sheet *sheet, const struct sample_record *record)
{
    sheet_list(sheet, "windows", NULL, 0);
    for (size_t w = 0; record && w < record->n_windows; w++) {
        const struct window_record *window = &record->windows[w];

        sheet_row(sheet);
        sheet_real(sheet, "window_s", window->window_s);
        sheet_bytes(sheet, "wss_bytes", window->wss_bytes);
        sheet_bytes(sheet, "wss_low_bytes", window->wss_low_bytes);
        sheet_bytes(sheet, "wss_high_bytes", window->wss_high_bytes);
    }
    sheet_close(sheet);
    sheet_text(sheet, "wss_flags", record ? SAMPLE_FLAGS(record->flags) : "");
}

/* 0: not found */
static void fill_knee(struct sheet *sheet, const char *key, uint64_t bytes)
{
    sheet_bytes(sheet, key, bytes ? bytes : DECIDE_UNKNOWN);
}

static void fill(struct sheet *sheet, const struct shrink_report *report)
{
    sheet_time(sheet, "time", report->unix_s, 3);
    sheet_text(sheet, "domain", report->domain);
    sheet_text(sheet, "uuid", report->uuid);
    sheet_text(sheet, "statistics", report->source);
    sheet_real(sheet, "settle_s", report->settle_s);
    sheet_text(sheet, "end", end_name(report->end));
    sheet_bytes(sheet, "full_bytes", report->full_bytes);
    sheet_bytes(sheet, "restored_bytes", report->restored_bytes);
    fill_knee(sheet, "knee_low_bytes", shrink_knee_low(report));
    fill_knee(sheet, "knee_high_bytes", shrink_knee_high(report));
    sheet_list(sheet, "steps", columns, COUNT(columns));
    for (size_t i = 0; i < report->n; i++)
        fill_step(sheet, &report->steps[i]);
    sheet_close(sheet);
    fill_windows(sheet, report->record);
}

/* --- sentences -------------------------------------------------------------------------------- */

static void print_windows(const struct sample_record *record)
{
    const char *flags = record ? SAMPLE_FLAGS(record->flags) : "";

    for (size_t w = 0; record && w < record->n_windows; w++) {
        const struct window_record *window = &record->windows[w];

        note("WSS %s: %s (%s to %s)%s%s\n", SECONDS_SHORT_TEXT(window->window_s),
             BYTES_TEXT(window->wss_bytes), BYTES_TEXT(window->wss_low_bytes),
             BYTES_TEXT(window->wss_high_bytes), *flags ? " " : "", flags);
    }
}

static void print_end(const struct shrink_report *report)
{
    static const char *const why[] = {
        [SHRINK_GOES_ON] = "",
        [SHRINK_COMPLAINT] = "",
        [SHRINK_FLOOR] = "no complaint down to --min, or until nothing was available to take",
        [SHRINK_NO_MORE] = "no complaint: its balloon driver gave no more",
        [SHRINK_SILENT] = "ended: the guest stopped reporting",
        [SHRINK_INTERRUPTED] = "interrupted",
        [SHRINK_FAILED] = "ended before the guest complained",
    };

    if (shrink_knee_high(report))
        note("knee: between %s and %s\n", BYTES_TEXT(shrink_knee_low(report)),
             BYTES_TEXT(shrink_knee_high(report)));
    else if (report->end == SHRINK_COMPLAINT)
        note("no knee: the guest complains at its full size\n");
    else
        note("%s\n", why[report->end]);
    print_windows(report->record);
    if (report->restored_bytes == DECIDE_UNKNOWN)
        note("not restored: the message says why\n");
    else if (report->restored_bytes < report->full_bytes)
        note("restored: %s of %s so far, the rest follows as the guest's driver takes it\n",
             BYTES_TEXT(report->restored_bytes), BYTES_TEXT(report->full_bytes));
    else
        note("restored: %s\n", BYTES_TEXT(report->full_bytes));
}

int shrink_print(const struct shrink_report *report, enum show_format format)
{
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.shrink.v1", NULL);
    fill(&sheet, report);
    if (format == SHOW_TABLE)
        print_end(report);
    return sheet_end(&sheet);
}
