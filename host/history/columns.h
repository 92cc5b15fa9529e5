// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file columns.h  The history's columns, from the tables of fields (measure/record/field.h): as
 * SQL text, as parameters, and read again.
 */
#pragma once

#include "measure/record/field.h"

#include <sqlite3.h>

/** SQL that is put together; begins empty ({0}). What does not fit is cut off, and no statement. */
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
 * Binds them, in the order of the table.
 * @param first  parameter
 * @param base   the struct that the table is of; HOME_SUMMARY: struct record_summary, or struct
 *               guest_stats
 * @return the parameter after the last; -ENOMEM
 */
int columns_bind(sqlite3_stmt *statement, int first, const struct field *fields,
                 enum field_home home, const void *base);

/** Reads them, from column @p first on, into the struct. The column after the last; -EUCLEAN. */
int columns_read(sqlite3_stmt *statement, int first, const struct field *fields,
                 enum field_home home, void *base);

/** The same of a summary. */
int columns_bind_summary(sqlite3_stmt *statement, int first, const struct record_summary *summary);
int columns_read_summary(sqlite3_stmt *statement, int first, struct record_summary *summary);
