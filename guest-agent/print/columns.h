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

/** At most COLUMNS_MAX; @p column outlives the table. NULL when out of memory. Give to
 * columns_free(). */
struct columns *columns_new(const struct column *column, size_t n);
void columns_free(struct columns *columns);

/** Appends a row of as many cells as there are columns; the strings are copied, and control
 * characters in them become
 *  '?': names come from processes and files that any user may have made. 0 or -ENOMEM. */
int columns_row(struct columns *columns, const char *const *cells);

/** Prints, each column as wide as its widest cell (in bytes); the heading only if @p heading. */
void columns_print(struct columns *columns, bool heading, FILE *out);
