// SPDX-License-Identifier: LGPL-2.1-or-later
#include "print/record.h"

#include <string.h>

void record_begin(struct sheet *sheet, enum show_format format, const char *schema)
{
    sheet_begin(sheet, format, schema, NULL);
    sheet->omits_unknown = true;
    sheet_time(sheet, "time", clock_s(CLOCK_REALTIME), 3);
}

static void add_member(struct sheet *sheet, const char *name, const json_t *value)
{
    size_t length = strlen(name) - (json_is_real(value) ? 0 : strlen("_bytes"));

    sheet_row(sheet);
    sheet_cell(sheet, "what", "%.*s", (int)length, name);
    if (json_is_real(value))
        sheet_cell(sheet, "value", "%.1f", json_real_value(value));
    else
        sheet_cell_bytes(sheet, "value", (double)json_integer_value(value));
}

void record_members(struct sheet *sheet, const char *key, json_t *object, const char *heading)
{
    const struct sheet_column columns[] = {{"what", {.name = "WHAT"}},
                                           {"value", {.name = heading, .right = true}}};
    const char *name;
    json_t *value;

    if (sheet->format == SHOW_TABLE) {
        sheet_list(sheet, key, columns, 2);
        json_object_foreach(object, name, value)
        {
            add_member(sheet, name, value);
        }
        sheet_close(sheet);
    }
    sheet_json(sheet, key, object);
}
