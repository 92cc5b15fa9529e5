// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file columns.h  The history's columns, made from the tables of fields (measure/record/field.h):
 * as SQL text, as parameters, and as results.
 */
#pragma once

#include "measure/record/field.h"

#include <sqlite3.h>

/** SQL text under construction; begins empty ({0}). Text that does not fit is truncated, so that
 * the statement is invalid. */
struct sql_text {
    size_t used;
    char text[6144];
};

void sql_append(struct sql_text *sql, const char *text);

/** Appends @p pattern for each field that has a column in @p home: "#" is the column's name, "@"
 * its type in a STRICT table, NOT NULL if it cannot be unknown. */
void columns_append(struct sql_text *sql, const struct field *fields, enum field_home home,
                    const char *pattern);

/**
 * Binds the fields, in the order of the table.
 * @param first  first parameter
 * @param base   the struct that the table describes; HOME_SUMMARY: struct record_summary, or struct
 *               guest_stats
 * @return the parameter after the last; -ENOMEM
 */
int columns_bind(sqlite3_stmt *statement, int first, const struct field *fields,
                 enum field_home home, const void *base);

/** Reads the fields, from column @p first on, into the struct. Returns the column after the last;
 * -EUCLEAN. */
int columns_read(sqlite3_stmt *statement, int first, const struct field *fields,
                 enum field_home home, void *base);

/** Binds the fields of a summary. */
int columns_bind_summary(sqlite3_stmt *statement, int first, const struct record_summary *summary);
int columns_read_summary(sqlite3_stmt *statement, int first, struct record_summary *summary);
