// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file table.c  The tables of the agent's sheets: implements show/table.h without libsmartcols,
 * because Debian has no static libsmartcols. Fits nothing to the terminal, and has no colours. */
#include "show/table.h"

#include "base/array.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 32

struct table {
    struct table_column columns[MAX_COLUMNS]; /* a hidden column has no name */
    size_t n;
    char **cell; /* n_rows times n */
    size_t n_rows;
};

struct table *table_new(const struct table_column *columns, size_t n)
{
    struct table *table = n <= MAX_COLUMNS ? calloc(1, sizeof(*table)) : NULL;

    if (table) {
        memcpy(table->columns, columns, n * sizeof(*columns));
        table->n = n;
    }
    return table;
}

void table_free(struct table *table)
{
    for (size_t i = 0; table && i < table->n_rows * table->n; i++)
        free(table->cell[i]);
    if (table)
        free(table->cell);
    free(table);
}

/* Any user can choose names of processes and files, so control characters become '?'. */
int table_row(struct table *table, const char *const *cells)
{
    char **grown = array_grow(table->cell, table->n_rows, table->n * sizeof(*grown));
    int rc = 0;

    if (!grown)
        return -ENOMEM;
    table->cell = grown;
    for (size_t i = 0; i < table->n; i++) {
        char *copy = table->cell[table->n_rows * table->n + i] = strdup(cells[i]);

        if (copy)
            utf8_printable(copy);
        else
            rc = -ENOMEM;
    }
    table->n_rows++;
    return rc;
}

void table_colour_row(struct table *table, const char *colour)
{
    (void)table;
    (void)colour;
}

void table_hide(struct table *table, size_t number)
{
    table->columns[number].name = NULL;
}

/* Sets the columns' widths to the bytes of their widest cells. */
static void set_widths(struct table *table, bool heading)
{
    for (size_t i = 0; i < table->n * (table->n_rows + heading); i++) {
        struct table_column *column = &table->columns[i % table->n];
        const char *text = i < table->n * table->n_rows ? table->cell[i] : column->name;
        size_t width = text ? strlen(text) : 0;

        column->width = width > column->width ? (unsigned)width : column->width;
    }
}

/* Prints row @p row, or the heading if @p row is NULL. */
static void print_row(const struct table *table, char *const *row)
{
    size_t last = table->n - 1;
    const char *gap = "";

    while (last > 0 && !table->columns[last].name)
        last--;
    for (size_t i = 0; i <= last; i++) {
        const struct table_column *column = &table->columns[i];
        int width = column->right ? (int)column->width : i == last ? 0 : -(int)column->width;

        if (column->name)
            printf("%s%*s", gap, width, row ? row[i] : column->name);
        if (column->name)
            gap = " ";
    }
    putchar('\n');
}

void table_print(struct table *table, bool heading)
{
    set_widths(table, heading);
    if (heading)
        print_row(table, NULL);
    for (size_t row = 0; row < table->n_rows; row++)
        print_row(table, table->cell + row * table->n);
}
