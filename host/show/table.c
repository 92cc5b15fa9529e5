// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/table.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/fit.h"

#include <errno.h>
#include <langinfo.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_COLUMNS 32
#define MAX_HEADING 128
/* As in vmwss top: names made by tools ("instance-0000001a") fit, and truncated names are
 * recognisable. */
#define NAME_WIDTH 32
/* Minimum width for wrapping; narrower sentences are hard to read. */
#define LAST_WIDTH 30

struct table {
    struct libscols_table *scols;
    size_t n_columns;
    struct table_column columns[MAX_COLUMNS];
    struct libscols_line **lines; /* libsmartcols finds a line by walking through all before it */
    size_t n_lines;
};

/* Width as libsmartcols prints it: in a locale with one-byte characters, such as C, it prints each
 * non-ASCII byte as \xc3. */
static size_t cell_width(const char *text)
{
    size_t width = 0;

    if (MB_CUR_MAX > 1)
        return fit_text_width(text);
    for (; *text; text++)
        width += (unsigned char)*text < 0x80 ? 1 : 4;
    return width;
}

static const char *heading_of(const char *name)
{
    return strcmp(name, "±") == 0 ? show_plus_minus() : name;
}

/* Pads the heading to the column's fixed width. */
static const char *padded(char *text, const struct table_column *column)
{
    const char *name = heading_of(column->name);
    const size_t used = cell_width(name);
    const int more = column->width > used ? (int)(column->width - used) : 0;

    snprintf(text, MAX_HEADING, "%*s%s%*s", column->right ? more : 0, "", name,
             column->right ? 0 : more, "");
    return text;
}

struct table *table_new(const struct table_column *columns, size_t n)
{
    struct table *table = calloc(1, sizeof(*table));

    scols_init_debug(0);
    if (!table || n > MAX_COLUMNS) {
        free(table);
        return NULL;
    }
    table->n_columns = n;
    memcpy(table->columns, columns, n * sizeof(*columns));
    table->scols = scols_new_table();
    if (!table->scols) {
        free(table);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        char heading[MAX_HEADING];
        int flags = (columns[i].right ? SCOLS_FL_RIGHT : 0) | (columns[i].last ? SCOLS_FL_WRAP : 0);

        if (!scols_table_new_column(table->scols, padded(heading, &columns[i]), 0, flags)) {
            table_free(table);
            return NULL;
        }
    }
    return table;
}

void table_free(struct table *table)
{
    if (table) {
        scols_unref_table(table->scols);
        free(table->lines);
    }
    free(table);
}

/* A name may contain terminal escape sequences, or characters that reverse the text direction. */
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

    if (!line || array_put(&table->lines, &table->n_lines, &line, sizeof(void *)) < 0)
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
    if (table->n_lines > 0 && colour)
        scols_line_set_color(table->lines[table->n_lines - 1], colour);
}

void table_hide(struct table *table, size_t number)
{
    struct libscols_column *column = scols_table_get_column(table->scols, number);

    if (column)
        scols_column_set_flags(column, scols_column_get_flags(column) | SCOLS_FL_HIDDEN);
}

/* --- fitting ---------------------------------------------------------------------------------- */

static struct libscols_cell *cell_of(struct table *table, size_t row, size_t column)
{
    return scols_line_get_cell(table->lines[row], column);
}

static const char *text_of(struct table *table, size_t row, size_t column)
{
    const char *text = scols_cell_get_data(cell_of(table, row, column));

    return text ? text : "";
}

/* Returns the bytes of the first word of @p text, including the blank or comma after it. */
static size_t word_bytes(const char *text)
{
    size_t n = strcspn(text, " ,");

    return n + (text[n] != '\0');
}

/* Returns the word's width on a terminal, without a blank at its end. */
static size_t word_width(const char *text, size_t bytes)
{
    cleanup_free char *word = strndup(text, bytes - (bytes > 0 && text[bytes - 1] == ' '));

    return word ? cell_width(word) : bytes;
}

static size_t longest_word(const char *text)
{
    size_t longest = 0;

    for (size_t n; *text; text += n) {
        size_t width = word_width(text, n = word_bytes(text));

        longest = width > longest ? width : longest;
    }
    return longest;
}

/* Returns the width of the widest cell or heading of a column. */
static size_t widest(struct table *table, size_t column, size_t (*width_of)(const char *text))
{
    size_t most = cell_width(heading_of(table->columns[column].name));

    for (size_t row = 0; row < table->n_lines; row++) {
        size_t width = width_of(text_of(table, row, column));

        most = width > most ? width : most;
    }
    return most;
}

/* Breaks the text into lines of at most @p room; longer words stay whole. */
static char *wrap_words(const char *text, size_t room)
{
    char *wrapped = malloc(2 * strlen(text) + 1);
    char *end = wrapped;
    size_t used = 0;
    bool blank = false; /* the word ends with a blank */

    for (size_t n; wrapped && *text; text += n) {
        size_t width = word_width(text, n = word_bytes(text));

        if (used > 0 && used + width > room) {
            end -= blank;
            *end++ = '\n';
            used = 0;
        }
        end = mempcpy(end, text, n);
        blank = text[n - 1] == ' ';
        used += width + blank;
    }
    if (wrapped)
        *end = '\0';
    return wrapped;
}

/* Truncates a name as in "instance-00000..."; NULL if out of memory. */
static char *cut_name(const char *text, size_t room)
{
    const char *more = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "…" : "~";
    char *cut = malloc(strlen(text) + sizeof("…"));
    size_t bytes = 0;

    if (!cut)
        return NULL;
    strcpy(cut, text);
    /* Characters may have several bytes and two cells, so this tries to find the longest part that
     * fits. */
    for (size_t n; (n = utf8_printable_bytes(text + bytes)) > 0; bytes += n) {
        cut[bytes + n] = '\0';
        if (cell_width(cut) >= room)
            break;
        cut[bytes + n] = text[bytes + n];
    }
    strcpy(cut + bytes, more);
    return cut;
}

/* Replaces each cell of the column that is wider than @p room by the result of @p make. */
static void make_narrower(struct table *table, size_t column, size_t room,
                          char *(*make)(const char *text, size_t room))
{
    for (size_t row = 0; row < table->n_lines; row++) {
        const char *text = text_of(table, row, column);
        char *narrower = cell_width(text) > room ? make(text, room) : NULL;

        if (narrower)
            scols_cell_refer_data(cell_of(table, row, column), narrower);
    }
}

/* Returns the column's full width; the last column may be wrapped, but not to single words. */
static size_t wanted_width(struct table *table, size_t column)
{
    const struct table_column *head = &table->columns[column];
    const size_t whole = widest(table, column, cell_width);
    const size_t word = head->last ? widest(table, column, longest_word) : whole;
    const size_t least = word > LAST_WIDTH ? word : LAST_WIDTH;

    if (head->width > 0)
        return head->width;
    return head->last && whole > least ? least : whole;
}

/* Truncates names only if columns would otherwise be hidden. */
static void cut_names(struct table *table, struct fit_column *fit, size_t width)
{
    for (size_t c = 0; c < table->n_columns; c++) {
        const struct table_column *head = &table->columns[c];
        const size_t room = head->width > 0 ? head->width : NAME_WIDTH;

        if (!head->cut || fit_line_width(fit, table->n_columns) <= width)
            continue;
        make_narrower(table, c, room, cut_name);
        fit[c].width = fit[c].width < room ? fit[c].width : room;
    }
}

/* Gives the last column the width that the other columns leave. */
static void wrap_last(struct table *table, struct fit_column *fit, size_t width)
{
    const size_t last = table->n_columns - 1;
    struct libscols_column *column = scols_table_get_column(table->scols, last);
    size_t others;

    if (!table->columns[last].last || !fit[last].shown)
        return;
    for (size_t c = 0; c < last; c++) {
        const size_t heading = table->columns[c].width; /* padded to its heading */
        const size_t cells = widest(table, c, cell_width);

        fit[c].width = cells > heading ? cells : heading;
    }
    others = fit_line_width(fit, last) + 1;
    scols_column_set_safechars(column, "\n");
    scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
    make_narrower(table, last, width > others ? width - others : 1, wrap_words);
}

/* Pads the text with blanks to the width of the heading; returns NULL if it is as wide already, or
 * if out of memory. */
static char *padded_cell(const char *text, const struct table_column *column)
{
    char heading[MAX_HEADING];
    const size_t room = cell_width(padded(heading, column));
    const size_t used = cell_width(text);
    char *cell = NULL;
    const int more = room > used ? (int)(room - used) : 0;

    if (more == 0 || asprintf(&cell, "%*s%s%*s", column->right ? more : 0, "", text,
                              column->right ? 0 : more, "") < 0)
        return NULL;
    return cell;
}

/* Pads cells if the heading is not printed: libsmartcols since 2.41 then ignores the heading's
 * width, but rows printed one by one must align with the first row. */
static void keep_widths(struct table *table)
{
    for (size_t c = 0; c < table->n_columns && table->n_lines > 0; c++) {
        char *cell = table->columns[c].last ? NULL
                                            : padded_cell(text_of(table, 0, c), &table->columns[c]);

        if (cell)
            scols_cell_refer_data(cell_of(table, 0, c), cell);
    }
}

static void make_fit(struct table *table, size_t width)
{
    struct fit_column fit[MAX_COLUMNS];
    const size_t n = table->n_columns;

    if (width == 0)
        return;
    for (size_t c = 0; c < n; c++) {
        int flags = scols_column_get_flags(scols_table_get_column(table->scols, c));

        fit[c].width = wanted_width(table, c);
        fit[c].rank = table->columns[c].rank;
        fit[c].shown = !(flags & SCOLS_FL_HIDDEN);
    }
    cut_names(table, fit, width);
    fit_columns(fit, n, width);
    for (size_t c = 0; c < n; c++)
        if (!fit[c].shown)
            table_hide(table, c);
    wrap_last(table, fit, width);
}

void table_print(struct table *table, bool heading)
{
    /* in a pipe, an exported $COLUMNS is the width of a terminal that does not show this output */
    make_fit(table, isatty(STDOUT_FILENO) ? fit_output_width() : 0);
    scols_table_enable_colors(table->scols, table_colours());
    scols_table_enable_noheadings(table->scols, !heading);
    if (!heading)
        keep_widths(table);
    scols_print_table(table->scols);
}
