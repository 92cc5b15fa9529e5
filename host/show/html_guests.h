// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_guests.h  The guests on the page of html_report.h. */
#pragma once

#include "show/html_data.h"

#include <stdio.h>

/** Writes all guests as a sortable table with a search field. */
void html_guests_table(FILE *out, const struct html_report *page);

/** Writes each guest over time. */
void html_guests(FILE *out, const struct html_report *page);
