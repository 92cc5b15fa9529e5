// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file table.h  Tables for people, on libsmartcols: aligned, and cut to the terminal's width.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct table; /* opaque */

struct table_column {
    const char *name;
    bool right; /* align right: numbers */
    bool last;  /* may be cut or wrapped when the terminal is narrow */
};

/** NULL when out of memory. */
struct table *table_new(const struct table_column *columns, size_t n);
void table_free(struct table *table);

/** Appends a row of as many cells as there are columns; the strings are copied, as
 * utf8_printable() makes them. */
int table_row(struct table *table, const char *const *cells);

/** Shows the last row in a colour of terminal-colors.d(5), "red", where there are colours; NULL: in
 * none. */
void table_colour_row(struct table *table, const char *colour);

/** Are there colours: on a terminal, and without $NO_COLOR (https://no-color.org)? */
bool table_colours(void);

/** Leaves column @p number (0 ...) out. */
void table_hide(struct table *table, size_t number);

/** Prints to standard output; the heading only if @p heading. */
void table_print(struct table *table, bool heading);
