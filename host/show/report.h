// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report.h  Prints a report as tables, one JSON object, or CSV. */
#pragma once

#include "history/report.h"
#include "show/sheet.h"

#include <stdio.h>

/** The way in which the sentences of a report are written. */
struct report_voice {
    FILE *out;
    const char *percent;     /* "%", or " %" */
    const char *begin, *end; /* of a sentence */
};

/** Tells how much of the capacity all guests need together; nothing if the capacity is not known.
 * Writes neither begin nor end. */
void report_say_need(const struct report_voice *voice, const struct report *report);

/** Tells which guests were not measured, and how much of the time has no record; nothing if all
 * were, and all has. */
void report_say_gaps(const struct report_voice *voice, const struct report *report);

/** Warns if the statistics cannot support the risk: a day's data cannot show a risk of one in a
 * thousand. */
void report_say_few(const struct report_voice *voice, const struct report *report);

/** Returns 0 or -ENOMEM. */
int report_print(const struct report *report, enum show_format format);
