// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file table.h  Tables for people, on libsmartcols: aligned and fitted to the terminal.
 *
 * If a table is wider than fit_output_width(), first names are cut to 32 characters, or to their
 * column's width, then columns are left out, those of the highest rank first, and the last column
 * gets the rest of the line, with its words wrapped. Without a terminal, in a pipe or from cron,
 * all columns are printed and nothing is cut, whatever $COLUMNS is.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct table; /* opaque */

struct table_column {
    const char *name;
    bool right;    /* align right: numbers */
    bool last;     /* may be wrapped when the terminal is narrow */
    bool cut;      /* a name: may be cut when the terminal is narrow */
    unsigned rank; /* as in struct fit_column; 0: never left out */
    /* for a table that is printed row by row, so that each row has the same columns: its fixed
     * width, whatever its cells contain; 0: the width of its cells */
    unsigned width;
};

/** Returns NULL if out of memory. At most 32 columns, which are copied, except for their names. */
struct table *table_new(const struct table_column *columns, size_t n);
void table_free(struct table *table);

/** Appends a row with one cell for each column; the strings are copied, converted by
 * utf8_printable(). */
int table_row(struct table *table, const char *const *cells);

/** Shows the last row in a colour of terminal-colors.d(5), such as "red", if colours are used;
 * NULL: no colour. */
void table_colour_row(struct table *table, const char *colour);

/** Returns true if colours are used: on a terminal, and without $NO_COLOR (https://no-color.org).
 */
bool table_colours(void);

/** Leaves out column @p number (0 ...). */
void table_hide(struct table *table, size_t number);

/** Prints to standard output; the heading only if @p heading. */
void table_print(struct table *table, bool heading);
