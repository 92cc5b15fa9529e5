// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file migrate.h  Prints the forecast of a live migration: a table of its rounds with the verdict
 * in sentences, JSON. */
#pragma once

#include "decide/migrate/curve_file.h"
#include "decide/migrate/forecast.h"
#include "decide/migrate/settings.h"
#include "decide/plan/price.h"
#include "history/history.h"
#include "show/sheet.h"

struct migrate_report {
    const struct migrate_guest *guest;
    struct migrate_range filled_bytes;
    const struct migrate_settings *settings;
    const struct migrate_path *path;
    const struct migrate_forecast *forecast;
    bool bandwidth_assumed; /* it was neither given, nor is it set for the guest */
    double cpu_s;           /* of the measurement; NAN: from a file */
    bool explain;
};

/** Returns 0 or -ENOMEM. JSON: schema vmwss.migrate.v1. */
int migrate_print(const struct migrate_report *report, enum show_format format);

/** "14s [12s, 17s]", "120ms [80ms, no end]", "never [12s, no end]". */
char *migrate_seconds_text(char *text, size_t size, const struct migrate_range *seconds);

/** Fills in an object of value, low and high, rounded to @p unit. */
void migrate_fill_range(struct sheet *sheet, const char *key, const struct migrate_range *range,
                        double unit);

/** The forecasts of a guest by the hour of the week. */
struct migrate_hours {
    struct history_guest guest;
    uint64_t ram_bytes;
    struct plan_writes writes;
    const struct migrate_terms *terms;
    struct migrate_forecast of[PLAN_WEEK_HOURS]; /* of hours with curves */
    unsigned best, worst;
};

/** Notes the bandwidth that is assumed where none was given or is set. */
void migrate_note_assumed(const struct migrate_path *path);

/** Returns 0 or -ENOMEM. JSON: schema vmwss.migrate_hours.v1. */
int migrate_hours_print(const struct migrate_hours *hours, enum show_format format);
