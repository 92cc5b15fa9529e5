// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_map.h  A map of guest RAM (measure/record/ram_map.h) as a picture in the terminal,
 * CSV, JSON and SVG. */
#pragma once

#include "measure/record/map_series.h"
#include "measure/record/ram_map.h"
#include "measure/record/sample_record.h"

/** How the picture is drawn. */
struct map_style {
    size_t width; /* of a line */
    bool utf8;    /* blocks; else ASCII */
    bool colours; /* with utf8: two windows in each line, of half blocks in shades of grey */
};

/** As standard output is. */
struct map_style map_style_of_output(void);

/** ", below 4 GiB" or ", above 4 GiB", as all of the region is; "": it is not known, or lies on
 * both sides, as of arm64's `virt`. */
const char *map_region_place(const struct map_region *region);

/** So many chunks there is room for in a line. */
size_t map_cells(const struct map_style *style);

/** @p record: of the same measurement. 0. */
void ram_map_print(const struct ram_map *map, const struct sample_record *record,
                   const struct map_style *style);

/** The same of periods one after the other: in each strip a line for each. Of periods whose flags
 * differ, those that have more are marked, here and in the SVG. 0 or -ENOMEM. */
int map_series_print(const struct map_series *series, const struct map_style *style);

/** A line for each chunk and window, with a heading. */
void ram_map_csv_print(const struct ram_map *map, const struct sample_record *record);

/** The same of one of several periods, with its time and its flags; the heading only if @p heading.
 */
void ram_map_csv_period(const struct ram_map *map, const struct sample_record *record,
                        bool heading);

/** One object, schema vmwss.map.v1. 0 or -ENOMEM. */
int ram_map_json_print(const struct ram_map *map, const struct sample_record *record);

/** Writes a picture. 0 or a negative errno with the message. */
int ram_map_svg_write(const struct ram_map *map, const struct sample_record *record,
                      const char *path, struct error *error);
int map_series_svg_write(const struct map_series *series, const char *path, struct error *error);

/** The same as PNG, without any text, for what cannot show SVG: libpng has no fonts. A region below
 * the other, a line for each window and what is resident, or for each period, with ticks at each
 * eighth of a region below. -E2BIG: more chunks in a line, or a larger picture, than there may be.
 */
int ram_map_png_write(const struct ram_map *map, const char *path, struct error *error);

/** Loads libpng: a program that does not find it ends here, and not after its measurement. */
void map_png_begin(void);
int map_series_png_write(const struct map_series *series, const char *path, struct error *error);
/** When a period ended, "12:34:56" in UTC. Returns @p text. */
char *map_period_clock(const struct map_period *period, char *text, size_t size);
