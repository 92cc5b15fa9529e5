// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file columns.c  See columns.h. */
#include "print/columns.h"

#include "base/array.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct columns {
    const struct column *column;
    size_t n;
    int width[COLUMNS_MAX];
    char **cell; /* n_rows times n */
    size_t n_rows;
    bool failed; /* out of memory */
};

struct columns *columns_new(const struct column *column, size_t n)
{
    struct columns *columns = n <= COLUMNS_MAX ? calloc(1, sizeof(*columns)) : NULL;

    if (columns) {
        columns->column = column;
        columns->n = n;
    }
    return columns;
}

static char *printable(const char *text)
{
    char *copy = strdup(text);

    if (copy)
        utf8_printable(copy);
    return copy;
}

void columns_row(struct columns *columns, const char *const *cells)
{
    if (!columns)
        return;

    char **grown = array_grow(columns->cell, columns->n_rows, columns->n * sizeof(*grown));

    columns->failed |= !grown;
    if (!grown)
        return;
    columns->cell = grown;

    char **row = columns->cell + columns->n_rows++ * columns->n;

    for (size_t i = 0; i < columns->n; i++) {
        row[i] = printable(cells[i]);
        columns->failed |= !row[i];
    }
}

static const char *cell_text(const struct columns *columns, size_t row, size_t i)
{
    return columns->cell[row * columns->n + i];
}

static int width_of(const struct columns *columns, size_t i, bool heading)
{
    size_t width = heading ? strlen(columns->column[i].name) : 0;

    for (size_t row = 0; row < columns->n_rows; row++) {
        size_t length = strlen(cell_text(columns, row, i));

        width = length > width ? length : width;
    }
    return (int)width;
}

static void print_cell(const struct columns *columns, size_t i, const char *text, FILE *out)
{
    bool last = i + 1 == columns->n;

    if (columns->column[i].right)
        fprintf(out, "%*s", columns->width[i], text);
    else
        fprintf(out, "%-*s", last ? 0 : columns->width[i], text);
    fputc(last ? '\n' : ' ', out);
}

static void print_table(struct columns *columns, bool heading, FILE *out)
{
    for (size_t i = 0; i < columns->n; i++)
        columns->width[i] = width_of(columns, i, heading);
    for (size_t i = 0; heading && i < columns->n; i++)
        print_cell(columns, i, columns->column[i].name, out);
    for (size_t row = 0; row < columns->n_rows; row++)
        for (size_t i = 0; i < columns->n; i++)
            print_cell(columns, i, cell_text(columns, row, i), out);
}

int columns_end(struct columns *columns, bool heading, FILE *out)
{
    if (!columns)
        return -ENOMEM;

    const int rc = columns->failed ? -ENOMEM : 0;

    if (rc == 0)
        print_table(columns, heading, out);
    for (size_t i = 0; i < columns->n_rows * columns->n; i++)
        free(columns->cell[i]);
    free(columns->cell);
    free(columns);
    return rc;
}
