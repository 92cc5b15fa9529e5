// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file html_page.h  What every page has: its head and its end, times, bars, and how it becomes a
 * file.
 *
 * Theory of operation. A page stands alone: its style and script are in it (html_page.css,
 * html_page.js, made part of the program by the build), it names no address, and a policy in it
 * forbids its browser to fetch any and to run any script but that one, which has a number that is
 * drawn anew for each page. Without script all is there; with it tables sort (html_table.h), a
 * field searches, and pictures are read out. Every text that is not ours goes through html_text().
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>

/** Up to the end of its head; @p title may be any bytes, @p now_s is Unix time. */
void html_page_begin(FILE *out, const char *title, double now_s);

/** From the end of its main part on; @p manual: the page of section 1 that says what the figures
 * mean. */
void html_page_end(FILE *out, const char *manual, double now_s);

/** Unix time as UTC, to the minute. */
void html_time(FILE *out, double time_s);

/** A line of html_bars(): a name, a value in words, the value as a bar, a note. */
struct html_bar {
    const char *style; /* the colour: a class of the style that has a rect, "wss" */
    const char *name, *note;
    double value;     /* 0 or more */
    const char *text; /* NULL: the value as bytes */
};

/** A table of bars of one scale; @p value_name heads the values. */
struct html_bars {
    const char *caption, *value_name;
    const struct html_bar *bars;
    size_t n;
};
void html_bars(FILE *out, const struct html_bars *bars);

/** The policy that a page names in its head, for the header Content-Security-Policy: copied into
 * @p policy. 0, or -EINVAL: it is no such page, or the policy does not fit. */
int html_page_policy(const char *page, char *policy, size_t size);

/** Makes a page in memory by @p draw (0; a negative errno). *text, of *size bytes and a NUL, is the
 * caller's to free; there is none after an error. 0 or -ENOMEM with the message. */
int html_page_text(int (*draw)(FILE *out, const void *context), const void *context, char **text,
                   size_t *size, struct error *error);

/** The same, and writes it as html_file_write(). 0; -ENOMEM, or what the file's error is, with the
 * message. */
int html_page_write(const char *path, int (*draw)(FILE *out, const void *context),
                    const void *context, struct error *error);
