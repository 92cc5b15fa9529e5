// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file table.c  See table.h. */
#include "show/table.h"

#include "base/cleanup.h"
#include "base/utf8.h"
#include "show/units.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct table {
    struct libscols_table *scols;
    size_t n_columns;
};

static const char *heading(const char *name)
{
    return strcmp(name, "±") == 0 ? show_plus_minus() : name;
}

struct table *table_new(const struct table_column *columns, size_t n)
{
    struct table *table = calloc(1, sizeof(*table));

    scols_init_debug(0);
    if (!table)
        return NULL;
    table->n_columns = n;
    table->scols = scols_new_table();
    if (!table->scols) {
        free(table);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        int flags = (columns[i].right ? SCOLS_FL_RIGHT : 0) | (columns[i].last ? SCOLS_FL_WRAP : 0);

        if (!scols_table_new_column(table->scols, heading(columns[i].name), 0, flags)) {
            table_free(table);
            return NULL;
        }
    }
    return table;
}

void table_free(struct table *table)
{
    if (table)
        scols_unref_table(table->scols);
    free(table);
}

/* A name may have bytes that a terminal obeys, or characters that turn a line round. */
static int set_cell(struct libscols_line *line, size_t column, const char *text)
{
    cleanup_free char *clean = NULL;

    if (!text || utf8_is_printable(text))
        return scols_line_set_data(line, column, text);
    clean = strdup(text);
    if (!clean)
        return -ENOMEM;
    utf8_printable(clean);
    return scols_line_set_data(line, column, clean);
}

int table_row(struct table *table, const char *const *cells)
{
    struct libscols_line *line = scols_table_new_line(table->scols, NULL);

    if (!line)
        return -ENOMEM;
    for (size_t i = 0; i < table->n_columns; i++)
        if (set_cell(line, i, cells[i]))
            return -ENOMEM;
    return 0;
}

bool table_colours(void)
{
    return isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}

void table_colour_row(struct table *table, const char *colour)
{
    struct libscols_line *line = scols_table_get_line(table->scols,
                                                      scols_table_get_nlines(table->scols) - 1);

    if (line && colour)
        scols_line_set_color(line, colour);
}

void table_hide(struct table *table, size_t number)
{
    struct libscols_column *column = scols_table_get_column(table->scols, number);

    if (column)
        scols_column_set_flags(column, scols_column_get_flags(column) | SCOLS_FL_HIDDEN);
}

void table_print(struct table *table, bool heading)
{
    scols_table_enable_colors(table->scols, table_colours());
    scols_table_enable_noheadings(table->scols, !heading);
    scols_print_table(table->scols);
}
