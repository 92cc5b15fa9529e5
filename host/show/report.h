// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report.h  Prints a report as tables, one JSON object, or CSV. */
#pragma once

#include "history/report.h"
#include "show/sheet.h"

#include <stdio.h>

/** How the sentences of a report are written. */
struct report_voice {
    FILE *out;
    const char *percent;     /* "%", or " %" */
    const char *begin, *end; /* written before and after each sentence */
};

/** Writes how much of the capacity all guests need together, without begin and end; nothing if the
 * capacity is not known. */
void report_say_need(const struct report_voice *voice, const struct report *report);

/** Writes which guests were not measured, and the share of time without records; nothing if there
 * are no such guests or times. */
void report_say_gaps(const struct report_voice *voice, const struct report *report);

/** Warns if there is too little data for the risk: a day's data cannot show a risk of one in a
 * thousand. */
void report_say_few(const struct report_voice *voice, const struct report *report);

/** Returns 0 or -ENOMEM. */
int report_print(const struct report *report, enum show_format format);
