// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sheet.h  The output of a command. It is filled once, and written in the chosen format:
 * tables for people, JSON, or CSV.
 *
 * A sheet is an object of named values. It may have groups, which are nested objects, and lists of
 * rows; the rows of a list are objects of the same kind.
 * - JSON has all values, in the order in which they were set.
 * - A list with columns is printed as a table. A cell shows the row's value with the column's key;
 *   other values are not shown.
 * - CSV has a line for each row of a list with columns, with the values named in its heading.
 *
 * A value in a group of a row is named GROUP_KEY in columns and in CSV: "runway_days". An unknown
 * value is "-" in a table, null in JSON, and empty in CSV. A value that was not set is empty, and
 * absent in JSON.
 *
 * An error is kept until sheet_end(), which returns it.
 */
#pragma once

#include "base/array.h" /* COUNT() of columns */
#include "show/table.h"

#include <jansson.h>
#include <stdint.h>

enum show_format {
    SHOW_TABLE,
    SHOW_JSON,
    SHOW_CSV,
};

struct sheet_column {
    const char *key; /* the name of the value */
    struct table_column head;
};

#define SHEET_CELLS 64 /* maximum cells in a row of a table or of CSV */
#define SHEET_DEPTH 10 /* maximum nesting of groups and rows */

enum sheet_level { SHEET_GROUP, SHEET_LIST, SHEET_ROW };

/** Callers use only the first four members. */
struct sheet {
    enum show_format format;
    bool no_heading;    /* do not print headings, because the tables continue earlier ones */
    bool omits_unknown; /* JSON omits unknown numbers and empty texts, and has no null for them */
    const char *const *csv; /* names of the fields, from sheet_begin() */
    int rc;
    const char *schema;
    struct {
        json_t *json;     /* an object or an array; NULL: not JSON */
        const char *name; /* name of the group, a prefix of the names of its values */
        enum sheet_level kind;
    } open[SHEET_DEPTH];
    size_t depth;
    bool lines;        /* print each row as a line of JSON */
    size_t list_depth; /* depth of the open list with columns; 0: none is open */
    const struct sheet_column *columns;
    size_t n_columns;
    struct table *table;
    char *cells[SHEET_CELLS]; /* cells of the open row; NULL: empty */
    const char *colour;
};

/** Begins a sheet. @p csv: the names of the CSV fields, ending with NULL; NULL: the command has no
 * CSV, or sets them itself and prints no heading. */
void sheet_begin(struct sheet *sheet, enum show_format format, const char *schema,
                 const char *const *csv);

/** Prints JSON, and frees the sheet. Returns 0, or the first error: -ENOMEM. */
int sheet_end(struct sheet *sheet);

/** Frees a sheet without printing; also allowed after sheet_end(). */
void sheet_free(struct sheet *sheet);

/* --- structure -------------------------------------------------------------------------------- */

/** Opens a group; sheet_close() ends it. */
void sheet_group(struct sheet *sheet, const char *key);

/** Opens a list; sheet_close() ends it and prints its table. @p key NULL: each row is printed at
 * once as a line of JSON with the schema, and there is no other object. @p columns NULL: the list
 * is not in tables, and in CSV only if @p key is NULL. */
void sheet_list(struct sheet *sheet, const char *key, const struct sheet_column *columns, size_t n);

/** Begins a row of the open list, and ends the previous row. */
void sheet_row(struct sheet *sheet);

/** Ends the open row of a list of lines, so that programs get it now and not when the next row
 * begins. */
void sheet_row_end(struct sheet *sheet);

/** Sets the field "scope" of CSV, where all lists share one table. */
void sheet_scope(struct sheet *sheet, const char *scope);

/** Begins the last row of the open list. In JSON it is a group @p key after the list. */
void sheet_total(struct sheet *sheet, const char *key);

/** Moves a list that was filled before its enclosing object to the end of that object, in JSON. */
void sheet_move_last(struct sheet *sheet, const char *key);

/** Ends the open group, or the open list with its row. */
void sheet_close(struct sheet *sheet);

/* --- values ----------------------------------------------------------------------------------- */

/** Sets any value. Takes ownership of @p json; @p shown is its text in a table. If @p shown is
 * NULL, there is no text, except for an array of names. The functions below use this one. */
void sheet_put(struct sheet *sheet, const char *key, json_t *json, const char *shown);
/** Sets an unknown value or group. */
void sheet_unknown(struct sheet *sheet, const char *key);
/** Sets a number; 2^63 or more means unknown. */
void sheet_count(struct sheet *sheet, const char *key, uint64_t n);
/** Sets bytes; 2^63 or more, such as UINT64_MAX, means unknown. */
void sheet_bytes(struct sheet *sheet, const char *key, uint64_t bytes);
/** Sets computed bytes, which may be negative, truncated to a whole number. NAN means unknown. */
void sheet_bytes_real(struct sheet *sheet, const char *key, double bytes);
/** Set real numbers; a number that is not finite means unknown. In a table seconds are "2m30s", a
 * share is "12.5%". */
void sheet_real(struct sheet *sheet, const char *key, double value);
void sheet_seconds(struct sheet *sheet, const char *key, double seconds);
/** Rounds to a multiple of @p unit, because more digits would be noise. */
double sheet_rounded(double value, double unit);
void sheet_share(struct sheet *sheet, const char *key, double share);
/** Sets a Unix time with @p digits decimals of the second (tables have none); 0 means unknown. */
void sheet_time(struct sheet *sheet, const char *key, double unix_s, int digits);
void sheet_bool(struct sheet *sheet, const char *key, bool value);
/** Sets text of any bytes. NULL means unknown; "" is null in JSON, and empty in a table. */
void sheet_text(struct sheet *sheet, const char *key, const char *text);
/** Sets "host", "domain" and "uuid", which identify the row's guest. */
void sheet_guest(struct sheet *sheet, const char *host, const char *domain, const char *uuid);
/** Sets "time" and "host", so that the output says where and when it was made. */
void sheet_here_and_now(struct sheet *sheet);
/** Sets a set of names: an array in JSON, otherwise a list with commas. @p name returns the name of
 * a bit, and NULL after the last bit. */
void sheet_bits(struct sheet *sheet, const char *key, unsigned bits,
                const char *(*name)(unsigned number));
/** Sets a value that tables do not show; takes ownership of @p json. */
void sheet_json(struct sheet *sheet, const char *key, json_t *json);

/** Sets a cell for people that is neither in JSON nor in CSV. */
void sheet_cell(struct sheet *sheet, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Sets such a cell to bytes; NAN means unknown. */
void sheet_cell_bytes(struct sheet *sheet, const char *key, double bytes);

/* --- only for people -------------------------------------------------------------------------- */

/** Prints a line before or after the tables, as note(). */
void sheet_note(const struct sheet *sheet, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Shows the open row in a colour, as in table_colour_row(). */
void sheet_colour(struct sheet *sheet, const char *colour);

/** Hides a column of the open list in its table. */
void sheet_hide(struct sheet *sheet, const char *key);
