// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file migrate_hours.c  The forecast of a migration by the hour of the week; see migrate.h. */
#include "show/migrate.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "measure/record/sample_record.h"
#include "show/note.h"
#include "show/plan_words.h"

#include <math.h>
#include <stdio.h>

static const struct sheet_column columns[] = {
    {"name", {.name = "HOUR (UTC)"}},
    {"verdict", {.name = "VERDICT"}},
    {"takes", {.name = "TAKES"}},
    {"stands_still", {.name = "DOWNTIME"}},
    {"curves", {.name = "CURVES", .right = true}},
};

static void fill_hour(struct sheet *sheet, const struct migrate_hours *hours, unsigned hour)
{
    const struct migrate_forecast *of = &hours->of[hour];
    char text[128];

    sheet_row(sheet);
    sheet_count(sheet, "hour", hour);
    sheet_text(sheet, "name", plan_hour_text(text, sizeof(text), hour));
    sheet_text(sheet, "verdict", migrate_verdict_name(of->verdict));
    migrate_fill_range(sheet, "total_seconds", &of->total_s, 1e-3);
    migrate_fill_range(sheet, "downtime_seconds", &of->downtime_s, 1e-6);
    migrate_fill_range(sheet, "sent_bytes", &of->sent_bytes, 1);
    sheet_count(sheet, "curves", plan_writes_count(&hours->writes, hour));
    sheet_cell(sheet, "takes", "%s", migrate_seconds_text(text, sizeof(text), &of->total_s));
    sheet_cell(sheet, "stands_still", "%s",
               migrate_seconds_text(text, sizeof(text), &of->downtime_s));
}

static double age_s(const struct migrate_hours *hours)
{
    return fmax(0, clock_s(CLOCK_REALTIME) - hours->writes.last_s);
}

static void fill(struct sheet *sheet, const struct migrate_hours *hours)
{
    const struct migrate_path path = migrate_path_of(hours->terms, hours->writes.kvm);

    sheet_here_and_now(sheet);
    sheet_text(sheet, "domain", hours->guest.name);
    sheet_text(sheet, "uuid", hours->guest.uuid);
    sheet_bytes(sheet, "ram_bytes", hours->ram_bytes);
    sheet_bytes(sheet, "resident_bytes", hours->writes.resident_bytes);
    migrate_fill_range(sheet, "bandwidth_bytes_per_second", &path.bandwidth_bytes_s, 1);
    sheet_bool(sheet, "bandwidth_assumed", hours->terms->bandwidth_bytes_s == 0);
    sheet_real(sheet, "allowed_downtime_s", path.downtime_s);
    sheet_real(sheet, "last_curve_age_s", sheet_rounded(age_s(hours), 1));
    sheet_bits(sheet, "flags", hours->writes.flags, sample_flag_name);
    sheet_count(sheet, "best_hour", hours->best);
    sheet_count(sheet, "worst_hour", hours->worst);
    sheet_list(sheet, "hours", columns, COUNT(columns));
    for (unsigned h = 0; h < PLAN_WEEK_HOURS; h++)
        if (plan_writes_count(&hours->writes, h) > 0)
            fill_hour(sheet, hours, h);
    sheet_close(sheet);
}

static void print_hour(const struct migrate_hours *hours, const char *which, unsigned hour)
{
    char name[32], seconds[128];

    note("%s hour: %s UTC, %s: %s\n", which, plan_hour_text(name, sizeof(name), hour),
         migrate_verdict_name(hours->of[hour].verdict),
         migrate_seconds_text(seconds, sizeof(seconds), &hours->of[hour].total_s));
}

int migrate_hours_print(const struct migrate_hours *hours, enum show_format format)
{
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.migrate_hours.v1", NULL);
    fill(&sheet, hours);
    if (format == SHOW_TABLE) {
        print_hour(hours, "best", hours->best);
        print_hour(hours, "worst", hours->worst);
        note("the last curve is %s old\n", SECONDS_SHORT_TEXT(age_s(hours)));
        if (hours->terms->bandwidth_bytes_s == 0) {
            const struct migrate_path path = migrate_path_of(hours->terms, hours->writes.kvm);

            migrate_note_assumed(&path);
        }
    }
    return sheet_end(&sheet);
}
