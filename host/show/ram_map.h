// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_map.h  A map of guest RAM (measure/record/ram_map.h) as a picture in the terminal,
 * CSV, JSON and SVG. */
#pragma once

#include "measure/record/map_series.h"
#include "measure/record/ram_map.h"
#include "measure/record/sample_record.h"
#include "show/sheet.h"

/** How a map is drawn. */
struct map_style {
    size_t width; /* width of a line */
    bool utf8;    /* block characters; otherwise ASCII */
    bool colours; /* requires utf8: half blocks in shades of grey show two windows in each line */
};

/** Returns the style for standard output. */
struct map_style map_style_of_output(void);

/** Returns ", below 4 GiB" or ", above 4 GiB" if that holds for the whole region; "" if it is not
 * known, or if the region crosses 4 GiB, as on arm64's `virt`. */
const char *map_region_place(const struct map_region *region);

/** Returns the number of chunks that fit into a line. */
size_t map_cells(const struct map_style *style);

/** @p record: from the same measurement. Returns 0. */
void ram_map_print(const struct ram_map *map, const struct sample_record *record,
                   const struct map_style *style);

/** If writes were measured, prints the read-mostly part of each region. Returns 0 or -ENOMEM. */
int ram_map_print_read_mostly(const struct ram_map *map, const struct sample_record *record);

/** Prints periods one after the other: each strip has one line for each period. If periods differ
 * in their flags, those with additional flags are marked, here and in the SVG. Returns 0 or
 * -ENOMEM. */
int map_series_print(const struct map_series *series, const struct map_style *style);

/** Begins JSON or CSV, for ram_map_fill(). @p periods: there are several periods, so CSV has
 * columns for their time and flags. */
void ram_map_begin(struct sheet *sheet, enum show_format format, bool periods);

/** Prints one object, schema vmwss.map.v1, or a line of CSV for each chunk and window. Returns 0 or
 * -ENOMEM. */
int ram_map_fill(struct sheet *sheet, const struct ram_map *map,
                 const struct sample_record *record);

/** Sets "block", "dimm" and "node" of the open row, and "gpa", the address at @p offset. */
void map_region_fill(struct sheet *sheet, const struct map_region *region);
void map_address_fill(struct sheet *sheet, const struct map_region *region, uint64_t offset);

/** Writes an SVG picture. Returns 0 or a negative errno with the message. */
int ram_map_svg_write(const struct ram_map *map, const struct sample_record *record,
                      const char *path, struct error *error);
int map_series_svg_write(const struct map_series *series, const char *path, struct error *error);

/** Writes the time when a period ended, "12:34:56" in UTC. Returns @p text. */
char *map_period_clock(const struct map_period *period, char *text, size_t size);
