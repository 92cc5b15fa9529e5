// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file table.h  Tables for people, on libsmartcols: aligned and fitted to the terminal.
 *
 * If a table is wider than fit_output_width(), names are first truncated to 32 characters, or to
 * their column's width. Then columns are hidden, those of the highest rank first, and the last
 * column is wrapped in the rest of the line. Without a terminal (in a pipe, or from cron) all
 * columns are printed in full, and $COLUMNS is ignored.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct table; /* opaque */

struct table_column {
    const char *name;
    bool right;    /* align right: numbers */
    bool last;     /* the last column: may be wrapped when the terminal is narrow */
    bool cut;      /* a name: may be truncated when the terminal is narrow */
    unsigned rank; /* as in struct fit_column; 0: never hidden */
    /* for tables printed row by row, whose rows must align: the fixed width; 0: the width of the
     * widest cell */
    unsigned width;
};

/** Returns NULL if out of memory. Copies the columns (at most 32), but not their names. */
struct table *table_new(const struct table_column *columns, size_t n);
void table_free(struct table *table);

/** Appends a row with one cell for each column; the strings are copied, converted by
 * utf8_printable(). */
int table_row(struct table *table, const char *const *cells);

/** Prints the last row in a colour of terminal-colors.d(5), such as "red", if colours are used;
 * NULL: no colour. */
void table_colour_row(struct table *table, const char *colour);

/** Returns true if colours are used: on a terminal, and without $NO_COLOR (https://no-color.org).
 */
bool table_colours(void);

/** Hides column @p number (0 ...). */
void table_hide(struct table *table, size_t number);

/** Prints to standard output, with the heading if @p heading is true. */
void table_print(struct table *table, bool heading);
