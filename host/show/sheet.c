// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/sheet.h"

#include "base/text/csv.h"
#include "base/text/json.h"
#include "show/note.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 400 /* size of a cell; lists of flags are the longest */

static bool is_json(const struct sheet *sheet)
{
    return sheet->format == SHOW_JSON;
}

static void open_level(struct sheet *sheet, enum sheet_level kind, const char *name, json_t *json)
{
    sheet->open[sheet->depth].kind = kind;
    sheet->open[sheet->depth].name = name;
    sheet->open[sheet->depth++].json = json;
}

/* Makes a JSON object or array; NULL if the format is not JSON. */
static json_t *make(struct sheet *sheet, json_t *(*create)(void))
{
    json_t *json = is_json(sheet) ? create() : NULL;

    if (is_json(sheet) && !json)
        sheet->rc = -ENOMEM;
    return json;
}

/* Adds a value to the innermost object or array, which then owns it. Returns the value; NULL if out
 * of memory. */
static json_t *add(struct sheet *sheet, const char *key, json_t *json)
{
    json_t *to = sheet->open[sheet->depth - 1].json;
    int rc = key ? json_object_set_new(to, key, json) : json_array_append_new(to, json);

    if (rc == 0)
        return json;
    sheet->rc = -ENOMEM;
    return NULL;
}

void sheet_begin(struct sheet *sheet, enum show_format format, const char *schema,
                 const char *const *csv)
{
    *sheet = (struct sheet){.format = format, .schema = schema, .csv = csv};
    open_level(sheet, SHEET_GROUP, NULL, make(sheet, json_object));
    sheet_text(sheet, "schema", schema);
    if (format == SHOW_CSV && csv)
        csv_heading(csv);
}

void sheet_free(struct sheet *sheet)
{
    for (size_t i = 0; i < SHEET_CELLS; i++)
        free(sheet->cells[i]);
    table_free(sheet->table);
    json_decref(sheet->open[0].json);
    if (sheet->depth > 2 && !sheet->open[1].name)
        json_decref(sheet->open[2].json); /* a line of JSON has no other owner */
    *sheet = (struct sheet){.rc = sheet->rc};
}

int sheet_end(struct sheet *sheet)
{
    if (sheet->rc == 0 && is_json(sheet) && !sheet->lines)
        sheet->rc = json_print_line(json_incref(sheet->open[0].json));
    sheet_free(sheet);
    return sheet->rc;
}

/* --- cells ------------------------------------------------------------------------------------ */

/* Returns the name of a cell; NULL after the last. */
static const char *cell_name(const struct sheet *sheet, size_t i)
{
    if (sheet->format == SHOW_CSV)
        return sheet->csv[i];
    return i < sheet->n_columns ? sheet->columns[i].key : NULL;
}

/* Puts the names of the row's groups before @p key. Returns false if the value is not in a row of
 * the list with columns. */
static bool full_name(char *name, size_t size, const struct sheet *sheet, const char *key)
{
    size_t used = 0;

    if (sheet->list_depth == 0 || sheet->depth <= sheet->list_depth)
        return false;
    for (size_t d = sheet->list_depth + 1; d < sheet->depth && used < size; d++) {
        if (sheet->open[d].kind != SHEET_GROUP)
            return false;
        used += (size_t)snprintf(name + used, size - used, "%s_", sheet->open[d].name);
    }
    if (used < size)
        snprintf(name + used, size - used, "%s", key);
    return true;
}

static void put_cell(struct sheet *sheet, const char *key, const char *text)
{
    char full[TEXT];
    const char *name;

    if (!text || !full_name(full, sizeof(full), sheet, key))
        return;
    for (size_t i = 0; (name = cell_name(sheet, i)); i++) {
        if (*name != *full || strcmp(name, full) != 0)
            continue;
        free(sheet->cells[i]);
        sheet->cells[i] = strdup(text);
        if (!sheet->cells[i])
            sheet->rc = -ENOMEM;
    }
}

static void end_csv(struct sheet *sheet)
{
    struct csv csv = {0};

    for (size_t i = 0; sheet->csv[i]; i++)
        if (sheet->cells[i])
            csv_text(&csv, sheet->cells[i]);
        else
            csv_nothing(&csv);
    csv_end(&csv);
}

static void end_table_row(struct sheet *sheet)
{
    const char *cells[SHEET_CELLS];

    for (size_t i = 0; i < sheet->n_columns; i++)
        cells[i] = sheet->cells[i] ? sheet->cells[i] : "";
    if (table_row(sheet->table, cells))
        sheet->rc = -ENOMEM;
    else
        table_colour_row(sheet->table, sheet->colour);
    sheet->colour = NULL;
}

static void end_cells(struct sheet *sheet)
{
    if (sheet->format == SHOW_CSV)
        end_csv(sheet);
    else if (sheet->table)
        end_table_row(sheet);
    for (size_t i = 0; i < SHEET_CELLS; i++)
        free(sheet->cells[i]);
    memset(sheet->cells, 0, sizeof(sheet->cells));
}

/* --- structure -------------------------------------------------------------------------------- */

void sheet_group(struct sheet *sheet, const char *key)
{
    json_t *json = make(sheet, json_object);

    open_level(sheet, SHEET_GROUP, key, json ? add(sheet, key, json) : NULL);
}

static void begin_table(struct sheet *sheet)
{
    struct table_column heads[SHEET_CELLS];

    for (size_t i = 0; i < sheet->n_columns; i++)
        heads[i] = sheet->columns[i].head;
    sheet->table = table_new(heads, sheet->n_columns);
    if (!sheet->table)
        sheet->rc = -ENOMEM;
}

void sheet_list(struct sheet *sheet, const char *key, const struct sheet_column *columns, size_t n)
{
    json_t *json = key ? make(sheet, json_array) : NULL;

    sheet->lines = sheet->lines || !key;
    open_level(sheet, SHEET_LIST, key, json ? add(sheet, key, json) : NULL);
    if (!columns && key)
        return;
    sheet->list_depth = sheet->depth;
    sheet->columns = columns;
    sheet->n_columns = n;
    if (columns && sheet->format == SHOW_TABLE)
        begin_table(sheet);
}

static bool row_is_open(const struct sheet *sheet)
{
    return sheet->open[sheet->depth - 1].kind == SHEET_ROW;
}

static void end_row(struct sheet *sheet)
{
    json_t *json = sheet->open[--sheet->depth].json;
    int rc = 0;

    if (sheet->depth == sheet->list_depth && !is_json(sheet))
        end_cells(sheet);
    if (json && !sheet->open[sheet->depth - 1].name)
        rc = json_print_line(json);
    if (rc < 0)
        sheet->rc = rc;
}

void sheet_row(struct sheet *sheet)
{
    json_t *json = make(sheet, json_object);

    if (row_is_open(sheet))
        end_row(sheet);
    if (json && sheet->open[sheet->depth - 1].name)
        json = add(sheet, NULL, json);
    else if (json)
        json_object_set_new(json, "schema", json_string(sheet->schema));
    open_level(sheet, SHEET_ROW, NULL, json);
}

void sheet_row_end(struct sheet *sheet)
{
    end_row(sheet);
    fflush(stdout);
}

void sheet_scope(struct sheet *sheet, const char *scope)
{
    if (sheet->format == SHOW_CSV)
        put_cell(sheet, "scope", scope);
}

void sheet_total(struct sheet *sheet, const char *key)
{
    if (!is_json(sheet)) {
        sheet_row(sheet);
        return;
    }
    sheet_close(sheet);
    sheet_group(sheet, key);
}

static void end_list(struct sheet *sheet)
{
    if (sheet->depth != sheet->list_depth)
        return;
    if (sheet->table && sheet->rc == 0)
        table_print(sheet->table, !sheet->no_heading);
    table_free(sheet->table);
    sheet->table = NULL;
    sheet->list_depth = 0;
}

void sheet_move_last(struct sheet *sheet, const char *key)
{
    json_t *to = sheet->open[sheet->depth - 1].json;
    json_t *json = json_incref(json_object_get(to, key));

    if (json) {
        json_object_del(to, key);
        add(sheet, key, json);
    }
}

void sheet_close(struct sheet *sheet)
{
    if (row_is_open(sheet))
        end_row(sheet);
    if (sheet->open[sheet->depth - 1].kind == SHEET_LIST)
        end_list(sheet);
    sheet->depth--;
}

/* --- values ----------------------------------------------------------------------------------- */

static char *names_text(char *text, size_t size, const json_t *array)
{
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; i < json_array_size(array) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "",
                                 json_string_value(json_array_get(array, i)));
    return text;
}

/* Returns a value's text in CSV, or NULL if it is empty. */
static const char *csv_value(char *text, size_t size, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_STRING:
        return json_string_value(json);
    case JSON_INTEGER:
        snprintf(text, size, "%lld", (long long)json_integer_value(json));
        return text;
    case JSON_REAL:
        snprintf(text, size, "%.9g", json_real_value(json));
        return text;
    case JSON_TRUE:
        return "1";
    case JSON_FALSE:
        return "0";
    case JSON_ARRAY:
        return names_text(text, size, json);
    default:
        return NULL;
    }
}

void sheet_put(struct sheet *sheet, const char *key, json_t *json, const char *shown)
{
    char text[TEXT];

    if (!json) {
        sheet->rc = -ENOMEM;
    } else if (is_json(sheet) && sheet->omits_unknown && shown && json_is_null(json)) {
        json_decref(json);
    } else if (is_json(sheet)) {
        add(sheet, key, json);
    } else {
        if (sheet->format == SHOW_CSV)
            shown = csv_value(text, sizeof(text), json);
        else if (json_is_null(json))
            shown = "-";
        else if (json_is_array(json))
            shown = names_text(text, sizeof(text), json);
        put_cell(sheet, key, shown);
        json_decref(json);
    }
}

/* If a group is unknown, so are its values. */
void sheet_unknown(struct sheet *sheet, const char *key)
{
    const size_t n = strlen(key);

    for (size_t i = 0; i < sheet->n_columns && sheet->format == SHOW_TABLE; i++)
        if (strncmp(sheet->columns[i].key, key, n) == 0 && sheet->columns[i].key[n] == '_')
            put_cell(sheet, sheet->columns[i].key, "-");
    sheet_put(sheet, key, json_null(), NULL);
}

void sheet_cell(struct sheet *sheet, const char *key, const char *format, ...)
{
    char text[2048]; /* fits the reasons of all methods */
    va_list args;

    if (sheet->format != SHOW_TABLE)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    put_cell(sheet, key, text);
}

/* --- only for people -------------------------------------------------------------------------- */

void sheet_note(const struct sheet *sheet, const char *format, ...)
{
    va_list args;

    if (sheet->format != SHOW_TABLE)
        return;
    va_start(args, format);
    vfprintf(note_stream(), format, args);
    va_end(args);
    note("\n");
}

void sheet_colour(struct sheet *sheet, const char *colour)
{
    sheet->colour = colour;
}

void sheet_hide(struct sheet *sheet, const char *key)
{
    for (size_t i = 0; sheet->table && i < sheet->n_columns; i++)
        if (strcmp(sheet->columns[i].key, key) == 0)
            table_hide(sheet->table, i);
}
