// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_table.h  An HTML table that html_page.js can sort and search. The page's address
 * stores sorting and search, so they can be bookmarked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct html_column {
    const char *key; /* name of the column in #sort= */
    const char *name;
    bool number; /* a column of numbers, sorted from the largest; text is sorted from A */
};

struct html_table {
    const char *id; /* ID of the table; the ID of its section is "ID-table" */
    /* prefix of "sort" and "find" in the page's address; "" for the first table */
    const char *prefix;
    const char *noun;  /* noun for a row: "guest" */
    const char *title; /* "Guests" */
    const char *note;  /* note below the search field; may be empty */
    const struct html_column *columns;
    size_t n_columns, n_rows;
};

/** Writes the section, the search field, and the table up to its first row. */
void html_table_begin(FILE *out, const struct html_table *table);

/** Ends the table and its section. */
void html_table_end(FILE *out);

/** Writes bytes into a cell of a numeric column; unknown values sort last. */
void html_cell_bytes(FILE *out, bool known, double bytes);

/** Writes @p text into a cell of a numeric column, sorted by @p value. */
void html_cell_number(FILE *out, double value, const char *text);
