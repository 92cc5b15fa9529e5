// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fit.h  Chooses the columns of a table that fit into a line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct fit_column {
    size_t width;  /* width of its widest cell or heading, in terminal columns */
    unsigned rank; /* the columns with the highest rank are removed first; 0: never removed */
    bool shown;    /* false: always hidden */
};

/** Returns the width of the shown columns, with one blank between columns. */
size_t fit_line_width(const struct fit_column *columns, size_t n);

/** Removes columns until the line has at most @p width (0: no limit), including one blank between
 * columns. Columns of equal rank are removed together, such as a number and its error. */
void fit_columns(struct fit_column *columns, size_t n, size_t width);

/** Returns the text's width on a terminal; for malformed text, its bytes. */
size_t fit_text_width(const char *text);

/** Returns the width of standard output: $COLUMNS, otherwise that of its terminal, otherwise 0: no
 * limit. */
size_t fit_output_width(void);
