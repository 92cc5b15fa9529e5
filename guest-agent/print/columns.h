// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file columns.h  Tables for people. Own code, because Debian has no static libsmartcols (the
 * host's tables are its).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct column {
    const char *name;
    bool right; /* align right: numbers */
};

#define COLUMNS_MAX 24

struct columns; /* opaque */

/** Begins a table of at most COLUMNS_MAX columns; @p column outlives it. Give it to columns_end(),
 * also if it is NULL: out of memory. */
struct columns *columns_new(const struct column *column, size_t n);

/** Appends a row of as many cells as there are columns; the strings are copied, and control
 * characters in them become '?': names come from processes and files that any user may have made.
 */
void columns_row(struct columns *columns, const char *const *cells);

/** Prints the table, each column as wide as its widest cell (in bytes), with the heading only if
 * @p heading, and frees it. 0; or -ENOMEM, now or from an earlier call: then nothing is printed. */
int columns_end(struct columns *columns, bool heading, FILE *out);
