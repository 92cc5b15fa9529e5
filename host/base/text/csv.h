// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file csv.h  Comma-separated values to standard output by RFC 4180: CRLF, quotes if needed. */
#pragma once

/** A line of values; initialise it with {0}. */
struct csv {
    int n;
};

/** Appends a text. One that begins with = + - or @, after blanks, and is not a number, gets an
 * apostrophe before it: guests choose names, and a spreadsheet would run it as a formula. What is
 * not printable becomes '?', as by utf8_printable(). */
void csv_text(struct csv *csv, const char *text);
/** Appends an empty field, for an unknown value. */
void csv_nothing(struct csv *csv);

/** Ends the line. */
void csv_end(struct csv *csv);

/** Prints a line of names; @p names ends with NULL. */
void csv_heading(const char *const *names);
