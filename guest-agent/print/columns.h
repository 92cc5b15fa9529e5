// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file columns.h  Prints tables for people. It does not use libsmartcols, like the host's tables,
 * because Debian has no static libsmartcols.
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

/** Begins a table of at most COLUMNS_MAX columns; @p column must outlive it. Returns NULL if out of
 * memory; pass the result to columns_end() in any case. */
struct columns *columns_new(const struct column *column, size_t n);

/** Appends a row with one cell for each column. Copies the strings, with '?' for control
 * characters, because any user can choose names of processes and files.
 */
void columns_row(struct columns *columns, const char *const *cells);

/** Prints the table, with each column as wide as its widest cell (in bytes) and with the heading if
 * @p heading is true, and frees it. 0; or -ENOMEM, now or from an earlier call, and then nothing is
 * printed. */
int columns_end(struct columns *columns, bool heading, FILE *out);
