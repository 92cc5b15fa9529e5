// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file html_page.h  The common parts of all pages: head and end, times, bars, and the file.
 *
 * Theory of operation. A page is self-contained: it includes its style and script (html_page.css,
 * html_page.js, which the build embeds into the program) and no URL. Its policy forbids the browser
 * to fetch anything, and to run any script without the page's random nonce. Everything is readable
 * without the script; the script adds sorting of tables (html_table.h), searching, and reading
 * values from charts. All untrusted text is written by html_text().
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>

/** Writes the page up to the end of its head. @p title may be any bytes; @p now_s is Unix time. */
void html_page_begin(FILE *out, const char *title, double now_s);

/** Writes the end of the page, after its main part. @p manual: the man page of section 1 that
 * explains the figures. */
void html_page_end(FILE *out, const char *manual, double now_s);

/** Writes a Unix time as UTC, to the minute. */
void html_time(FILE *out, double time_s);

/** A row of html_bars(): a name, a value as text, the value as a bar, a note. */
struct html_bar {
    const char *style; /* its CSS class, which sets the colour of a rect: "wss" */
    const char *name, *note;
    double value;     /* at least 0 */
    const char *text; /* NULL: print the value as bytes */
};

/** A table of bars with a common scale; @p value_name is the heading of the values. */
struct html_bars {
    const char *caption, *value_name;
    const struct html_bar *bars;
    size_t n;
};
void html_bars(FILE *out, const struct html_bars *bars);

/** Copies the policy from a page's head into @p policy, for the HTTP header
 * Content-Security-Policy. Returns 0, or -EINVAL: the page has no policy, or the policy does not
 * fit. */
int html_page_policy(const char *page, char *policy, size_t size);

/** Makes a page in memory with @p draw (returns 0 or a negative errno). The caller frees *text,
 * which has *size bytes and a NUL; after an error there is no text. Returns 0 or -ENOMEM with the
 * message. */
int html_page_text(int (*draw)(FILE *out, const void *context), const void *context, char **text,
                   size_t *size, struct error *error);

/** Makes a page in the same way, and writes it by whole_file_write(). Returns 0, -ENOMEM, or the
 * error of the file, with the message. */
int html_page_write(const char *path, int (*draw)(FILE *out, const void *context),
                    const void *context, struct error *error);
