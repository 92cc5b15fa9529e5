// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file table.h  Tables for people, on libsmartcols: aligned, and made to fit the terminal.
 *
 * Where a table is wider than what fit_output_width() says, first a name is cut to 32 characters,
 * or to its column's width, then columns are left out, those of the highest rank first, and what is
 * left of the line is the last column's, whose words are wrapped. Where there is no terminal, in a
 * pipe or from cron, all columns are there and nothing is cut, whatever $COLUMNS says.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct table; /* opaque */

struct table_column {
    const char *name;
    bool right;     /* align right: numbers */
    bool last;      /* may be wrapped when the terminal is narrow */
    bool cut;       /* a name: may be cut when the terminal is narrow */
    unsigned rank;  /* as of struct fit_column; 0: never left out */
    unsigned width; /* for a table that is printed row by row, so that the same columns are left out
                       in each: so wide, whatever is in its cells; 0: as wide as these */
};

/** NULL when out of memory. At most 32 columns, which are copied, but for their names. */
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
