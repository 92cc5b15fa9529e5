// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_report.h  A report as one page (html_page.h): the host, a table of its guests, and
 * each guest over time. */
#pragma once

#include "show/html_data.h"

/** Writes @p path by whole_file_write(). Returns 0, -ENOMEM, or the error of the file, with the
 * message. */
int html_report_write(const struct html_report *page, const char *path, struct error *error);

/** Makes the page in memory, as html_page_text(). */
int html_report_text(const struct html_report *page, char **text, size_t *size,
                     struct error *error);
