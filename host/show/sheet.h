// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sheet.h  The output of a command, filled once, and written in the format that its user
 * chose: tables for people, JSON, or CSV.
 *
 * A sheet is an object of named values. It may have groups, which are objects within it, and lists
 * of rows, which are objects of the same kind.
 * - JSON has all of it, in the order in which it was filled.
 * - A table is a list that has columns: a row has a cell for each column, the row's value of the
 *   column's name. Other values are not shown.
 * - CSV has a line for each row of a list with columns, of the values that its heading names.
 *
 * In columns and in CSV a value within a row's group has both names, "runway_days". A value that is
 * not known is "-" in a table, null in JSON, and empty in CSV. One that was not set is empty, and
 * absent in JSON.
 *
 * An error is kept until sheet_end(), which returns it.
 */
#pragma once

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

#define SHEET_CELLS 64 /* a row of a table or of CSV */
#define SHEET_DEPTH 10 /* groups and rows within each other */

enum sheet_level { SHEET_GROUP, SHEET_LIST, SHEET_ROW };

/** Only sheet.c uses other members than the first two. */
struct sheet {
    enum show_format format;
    bool no_heading; /* the tables continue earlier ones */
    int rc;
    const char *schema;
    const char *const *csv;
    struct {
        json_t *json;     /* an object or an array; NULL: not JSON */
        const char *name; /* of a group: it precedes names of values */
        enum sheet_level kind;
    } open[SHEET_DEPTH];
    size_t depth;
    bool lines;        /* a line of JSON for each row */
    size_t list_depth; /* of the open list with columns; 0: none */
    const struct sheet_column *columns;
    size_t n_columns;
    struct table *table;
    char *cells[SHEET_CELLS]; /* of the open row; NULL: empty */
    const char *colour;
};

/** Begins a sheet. @p csv: names of CSV's fields, which ends with NULL; NULL: the command has no
 * CSV. */
void sheet_begin(struct sheet *sheet, enum show_format format, const char *schema,
                 const char *const *csv);

/** Prints JSON, and frees the sheet. Returns 0, or the first error: -ENOMEM. */
int sheet_end(struct sheet *sheet);

/** Frees a sheet that is not ended, or once more one that is. */
void sheet_free(struct sheet *sheet);

/* --- structure -------------------------------------------------------------------------------- */

/** Opens a group, until sheet_close(). */
void sheet_group(struct sheet *sheet, const char *key);

/** Opens a list, until sheet_close(), which prints its table. @p key NULL: each row is a line of
 * JSON with the schema, and there is no other object; programs get these lines as they come.
 * @p columns NULL: tables do not have the list, and CSV only if @p key is NULL. */
void sheet_list(struct sheet *sheet, const char *key, const struct sheet_column *columns, size_t n);

/** Begins a row of the open list, after the end of the row before. */
void sheet_row(struct sheet *sheet);

/** Ends the open row of lines: programs get it now, and not when the next one begins. */
void sheet_row_end(struct sheet *sheet);

/** Sets "scope" of CSV, which has the rows of all lists in one. */
void sheet_scope(struct sheet *sheet, const char *scope);

/** Begins the last row of the open list, which in JSON is a group @p key behind the list. */
void sheet_total(struct sheet *sheet, const char *key);

/** Moves a list, which was filled before its object was known, to the end of it in JSON. */
void sheet_move_last(struct sheet *sheet, const char *key);

/** Ends the open group, or the open list with its row. */
void sheet_close(struct sheet *sheet);

/* --- values ----------------------------------------------------------------------------------- */

/** Any value, which it takes, and the text that a table has of it; NULL: none, but names of an
 * array. All below are made of it. */
void sheet_put(struct sheet *sheet, const char *key, json_t *json, const char *shown);
/** A value or a group that is not known. */
void sheet_unknown(struct sheet *sheet, const char *key);
/** A number; from 2^63 on, not known. */
void sheet_count(struct sheet *sheet, const char *key, uint64_t n);
/** Bytes; from 2^63 on, such as every UINT64_MAX that means so, not known. */
void sheet_bytes(struct sheet *sheet, const char *key, uint64_t bytes);
/** Computed bytes, which may be negative; cut off to a whole number. NAN: not known. */
void sheet_bytes_real(struct sheet *sheet, const char *key, double bytes);
/** Numbers; not finite: not known. Seconds are "2m30s" in a table, a share "12.5%". */
void sheet_real(struct sheet *sheet, const char *key, double value);
void sheet_seconds(struct sheet *sheet, const char *key, double seconds);
/** Rounds to a multiple of @p unit: more digits would be noise. */
double sheet_rounded(double value, double unit);
void sheet_share(struct sheet *sheet, const char *key, double share);
/** Unix time, with @p digits decimals of the second, in a table with none; 0: not known. */
void sheet_time(struct sheet *sheet, const char *key, double unix_s, int digits);
void sheet_bool(struct sheet *sheet, const char *key, bool value);
/** Text of any bytes. NULL: not known; "": null in JSON, and empty in a table. */
void sheet_text(struct sheet *sheet, const char *key, const char *text);
/** Sets "host", "domain" and "uuid": whose row it is. */
void sheet_guest(struct sheet *sheet, const char *host, const char *domain, const char *uuid);
/** Sets "time" and "host", so that the output can be dated wherever it goes. */
void sheet_here_and_now(struct sheet *sheet);
/** A set of names: an array in JSON, elsewhere with commas. @p name returns that of a bit, and NULL
 * behind the last. */
void sheet_bits(struct sheet *sheet, const char *key, unsigned bits,
                const char *(*name)(unsigned number));
/** A value that tables do not have; takes @p json. */
void sheet_json(struct sheet *sheet, const char *key, json_t *json);

/** A cell for people, which neither JSON nor CSV has. */
void sheet_cell(struct sheet *sheet, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** The same of bytes; NAN: not known. */
void sheet_cell_bytes(struct sheet *sheet, const char *key, double bytes);

/* --- only for people -------------------------------------------------------------------------- */

/** Prints a line, before or behind the tables. */
void sheet_note(const struct sheet *sheet, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Shows the open row in a colour, as table_colour_row(). */
void sheet_colour(struct sheet *sheet, const char *colour);

/** Leaves a column of the open list out of its table. */
void sheet_hide(struct sheet *sheet, const char *key);
