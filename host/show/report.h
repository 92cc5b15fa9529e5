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

/** What all guests together need of the capacity; nothing if that is not known. Without begin and
 * end. */
void report_say_need(const struct report_voice *voice, const struct report *report);

/** Which guests were not measured, and that part of the time has no record; nothing if neither. */
void report_say_gaps(const struct report_voice *voice, const struct report *report);

/** That the statistics cannot support the risk, if so: a day's data cannot show a risk of one in a
 * thousand. */
void report_say_few(const struct report_voice *voice, const struct report *report);

/** Returns 0 or -ENOMEM. */
int report_print(const struct report *report, enum show_format format);
