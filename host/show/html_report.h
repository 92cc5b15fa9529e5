// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file html_report.h  A report as one page: the host, a table of its guests, and each guest over
 * time.
 *
 * Theory of operation. The page stands alone: its style and script are in it (html_page.css,
 * html_page.js, made part of the program by the build), it names no address, and a policy in it
 * forbids its browser to fetch any and to run any script but that one, which has a number that is
 * drawn anew for each page. Without script all is there; with it the table sorts, a field searches,
 * and pictures are read out. Every text that is not ours goes through html_text().
 */
#pragma once

#include "show/html_data.h"

/** Writes @p path, as html_file_write(). 0; -ENOMEM, or what the file's error is, with the
 * message. */
int html_report_write(const struct html_report *page, const char *path, struct error *error);
