// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file html_page.h  The common parts of all pages: head and end, times, bars, and the file.
 *
 * Theory of operation. A page is self-contained: it includes its style and script (html_page.css,
 * html_page.js, which the build embeds in the program) and no address. Its policy forbids the
 * browser to fetch anything, and to run any script except this one, which has a random number drawn
 * for each page. Everything can be read without the script; the script adds sorting of tables
 * (html_table.h), searching, and reading values from pictures. All text from outside goes through
 * html_text().
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>

/** Writes the page up to the end of its head; @p title may be any bytes, @p now_s is Unix time. */
void html_page_begin(FILE *out, const char *title, double now_s);

/** Writes the page from the end of its main part on; @p manual: the page of section 1 that explains
 * the figures. */
void html_page_end(FILE *out, const char *manual, double now_s);

/** Writes a Unix time as UTC, to the minute. */
void html_time(FILE *out, double time_s);

/** A row of html_bars(): a name, a value in words, the value as a bar, a note. */
struct html_bar {
    const char *style; /* the colour: a class of the style with a rect, "wss" */
    const char *name, *note;
    double value;     /* at least 0 */
    const char *text; /* NULL: print the value as bytes */
};

/** A table of bars with one scale; @p value_name heads the values. */
struct html_bars {
    const char *caption, *value_name;
    const struct html_bar *bars;
    size_t n;
};
void html_bars(FILE *out, const struct html_bars *bars);

/** Copies the policy in the head of a page into @p policy, for the header Content-Security-Policy.
 * Returns 0, or -EINVAL: it is not such a page, or the policy does not fit. */
int html_page_policy(const char *page, char *policy, size_t size);

/** Makes a page in memory with @p draw (returns 0 or a negative errno). The caller frees *text,
 * which has *size bytes and a NUL; after an error there is no text. Returns 0 or -ENOMEM with the
 * message. */
int html_page_text(int (*draw)(FILE *out, const void *context), const void *context, char **text,
                   size_t *size, struct error *error);

/** Makes a page in the same way and writes it as html_file_write(). Returns 0, -ENOMEM, or the
 * error of the file, with the message. */
int html_page_write(const char *path, int (*draw)(FILE *out, const void *context),
                    const void *context, struct error *error);
