// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_map.h  A map of guest RAM (record/ram_map.h) as a picture in the terminal, CSV, JSON
 * and SVG. */
#pragma once

#include "record/ram_map.h"
#include "record/sample_record.h"

/** How the picture is drawn. */
struct map_style {
    size_t width; /* of a line */
    bool utf8;    /* blocks; else ASCII */
    bool colours; /* with utf8: two windows in each line, of half blocks in shades of grey */
};

/** As standard output is. */
struct map_style map_style_of_output(void);

/** So many chunks there is room for in a line. */
size_t map_cells(const struct map_style *style);

/** @p record: of the same measurement. 0. */
void ram_map_print(const struct ram_map *map, const struct sample_record *record,
                   const struct map_style *style);

/** A line for each chunk and window, with a heading. */
void ram_map_csv_print(const struct ram_map *map, const struct sample_record *record);

/** One object, schema vmwss.map.v1. 0 or -ENOMEM. */
int ram_map_json_print(const struct ram_map *map, const struct sample_record *record);

/** Writes a picture. 0 or a negative errno with the message. */
int ram_map_svg_write(const struct ram_map *map, const struct sample_record *record,
                      const char *path, struct error *error);
