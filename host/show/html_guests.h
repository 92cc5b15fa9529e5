// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_guests.h  The guests on the page of html_report.h. */
#pragma once

#include "show/html_data.h"

#include <stdio.h>

/** All of them as a table that sorts, with a field to search. */
void html_guests_table(FILE *out, const struct html_report *page);

/** Each of them over time. */
void html_guests(FILE *out, const struct html_report *page);
