// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fit.h  Which columns of a table fit into a line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct fit_column {
    size_t width;  /* of its widest cell, its heading too, in columns of the terminal */
    unsigned rank; /* the highest goes first; 0: it stays, whatever the width */
    bool shown;    /* false: it is not wanted anyway */
};

/** Of those that are shown, a blank between each two. */
size_t fit_line_width(const struct fit_column *columns, size_t n);

/** Takes columns out, a blank between each two, until the line has at most @p width; 0: any. Of
 * equal ranks all go together, as a number and its error. */
void fit_columns(struct fit_column *columns, size_t n, size_t width);

/** How wide it is on a terminal; of text that is not well-formed, its bytes. */
size_t fit_text_width(const char *text);

/** The width that standard output has: $COLUMNS, else that of its terminal, else 0: any. */
size_t fit_output_width(void);
