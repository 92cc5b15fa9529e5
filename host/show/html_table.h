// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_table.h  A table on a page that can be sorted and searched by html_page.js: the
 * page's address stores sorting and search, so that they can be bookmarked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct html_column {
    const char *key; /* name for #sort= */
    const char *name;
    bool number; /* sorts from the largest; text sorts from A */
};

struct html_table {
    const char *id;     /* ID of the table; its section has "id-table" */
    const char *prefix; /* prefix of sort and find in the page's address; "" for the first table */
    const char *noun;   /* noun for a row: "guest" */
    const char *title;  /* "Guests" */
    const char *note;   /* below the search; may be empty */
    const struct html_column *columns;
    size_t n_columns, n_rows;
};

/** Writes the section, the search, and the table up to its first row. */
void html_table_begin(FILE *out, const struct html_table *table);

/** Writes the end of all these. */
void html_table_end(FILE *out);

/** Writes a cell of a column of numbers: bytes; unknown values sort last. */
void html_cell_bytes(FILE *out, bool known, double bytes);

/** Writes a cell of a column of numbers with its own text. */
void html_cell_number(FILE *out, double value, const char *text);
