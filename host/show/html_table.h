// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_table.h  A table on a page that sorts and is searched, as html_page.js has it: the
 * page's address says how, so that it can be kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct html_column {
    const char *key; /* what #sort= takes */
    const char *name;
    bool number; /* begins with the largest, text with A */
};

struct html_table {
    const char *id;     /* of the table; its section has "id-table" */
    const char *prefix; /* of sort and find in the page's address; of the first table "" */
    const char *noun;   /* what a row is: "guest" */
    const char *title;  /* "Guests" */
    const char *note;   /* below the search; may be empty */
    const struct html_column *columns;
    size_t n_columns, n_rows;
};

/** The section, the search, and the table up to its first row. */
void html_table_begin(FILE *out, const struct html_table *table);

/** The end of all these. */
void html_table_end(FILE *out);

/** Cells of a column of numbers: bytes; what is not known is last. */
void html_cell_bytes(FILE *out, bool known, double bytes);

/** Cells of a column of numbers that have words of their own. */
void html_cell_number(FILE *out, double value, const char *text);
