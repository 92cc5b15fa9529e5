// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_map_png.c  ram_map_png_write(), see ram_map.h, with libpng's simplified API. */
#include "base/cleanup.h"
#include "show/ram_map.h"
#include "show/whole_file.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 960U
#define MAX_WIDTH 16384UL
#define MAX_PIXELS (64U << 20)
#define MARGIN 8UL
#define MARK 4U /* width of the bar beside a period */
#define ROW 18U /* height of a line, ... */
/* ... or less if there are many lines, so that they have about this height together */
#define HEIGHT 600U
#define ROW_LEAST 3U
#define TICKS 12U /* space below a region; ticks take half of it */

/* The same colours as in the SVG. */
struct colour {
    uint8_t red, green, blue;
};
static const struct colour white = {0xff, 0xff, 0xff};
static const struct colour ink = {0x24, 0x29, 0x2f};
static const struct colour touched = {0x09, 0x69, 0xda};
static const struct colour resident = {0x8c, 0x95, 0x9f};
static const struct colour unknown = {0xf6, 0xf8, 0xfa};
static const struct colour marked = {0xbc, 0x4c, 0x00};

struct raster {
    size_t width, height;
    uint8_t *pixels; /* three bytes each */
};

/* One map with its windows and resident memory, or periods, each with one window. */
struct drawing {
    /* the map, or that of the last period: all have the same chunks */
    const struct ram_map *map;
    const struct map_series *series; /* NULL: one map */
    unsigned some_flags;             /* flags that some, but not all, periods have */
    size_t rows, row;                /* number of lines, and height of a line */
    size_t chunk;                    /* width of a chunk */
};

/* --- layout ----------------------------------------------------------------------------------- */

static size_t region_height(const struct drawing *drawing)
{
    return drawing->rows * drawing->row + TICKS;
}

/* A chunk is a whole number of pixels wide, so that all chunks are equal. */
static int lay_out(struct drawing *drawing, struct raster *raster, const char *path,
                   struct error *error)
{
    const size_t most = ram_map_longest(drawing->map);

    if (most > MAX_WIDTH - 2 * MARGIN)
        return error_set(error, -E2BIG,
                         "%s: %zu chunks in a line, and %zu are the most: choose a larger --chunk",
                         path, most, MAX_WIDTH - 2 * MARGIN);
    drawing->chunk = (WIDTH + most - 1) / most;
    raster->width = most * drawing->chunk + 2 * MARGIN;
    raster->height = drawing->map->n_regions * region_height(drawing) + 2 * MARGIN;
    return raster->width * raster->height <= MAX_PIXELS
               ? 0
               : error_set(
                     error, -E2BIG,
                     "%s: %zu by %zu pixels are too many: choose a larger --chunk or --window",
                     path, raster->width, raster->height);
}

/* --- pixels ----------------------------------------------------------------------------------- */

static uint8_t blend(uint8_t from, uint8_t to, double share)
{
    return (uint8_t)lround(from + (to - from) * share);
}

static void fill(struct raster *raster, size_t x, size_t y, size_t width, size_t height,
                 struct colour colour, double share)
{
    const uint8_t pixel[] = {blend(white.red, colour.red, share),
                             blend(white.green, colour.green, share),
                             blend(white.blue, colour.blue, share)};

    for (size_t line = y; line < y + height; line++)
        for (size_t column = x; column < x + width; column++)
            memcpy(&raster->pixels[3 * (line * raster->width + column)], pixel, sizeof(pixel));
}

static void draw_row(struct raster *raster, const struct drawing *drawing,
                     const struct map_region *region, size_t row, size_t y)
{
    const struct ram_map *map = drawing->series ? &drawing->series->period[row].map : drawing->map;
    const size_t window = drawing->series ? 0 : row;
    const size_t height = drawing->row > 8 ? drawing->row - 2 : drawing->row;

    for (size_t c = 0; c < region->n_chunks; c++) {
        const size_t chunk = region->first_chunk + c;
        const size_t x = MARGIN + c * drawing->chunk;
        const struct map_figures figures = ram_map_figures(map, chunk);
        const double bytes = (double)figures.bytes;

        if (!figures.known)
            fill(raster, x, y, drawing->chunk, height, unknown, 1);
        else if (window < map->n_windows)
            fill(raster, x, y, drawing->chunk, height, touched,
                 (double)ram_map_touched(map, chunk, window).bytes / bytes);
        else
            fill(raster, x, y, drawing->chunk, height, resident,
                 (double)figures.resident_bytes / bytes);
    }
    if (drawing->series && drawing->series->period[row].record.flags & drawing->some_flags)
        fill(raster, 0, y, MARK, height, marked, 1);
}

static void draw_ticks(struct raster *raster, const struct drawing *drawing,
                       const struct map_region *region, size_t y)
{
    const size_t width = region->n_chunks * drawing->chunk;

    fill(raster, MARGIN, y, width, 1, ink, 1);
    for (size_t i = 0; i <= 8; i++)
        fill(raster, MARGIN + (width - 1) * i / 8, y, 1, i % 4 ? TICKS / 4 : TICKS / 2, ink, 1);
}

static void draw(struct raster *raster, const struct drawing *drawing)
{
    memset(raster->pixels, 0xff, 3 * raster->width * raster->height);
    for (size_t r = 0; r < drawing->map->n_regions; r++) {
        const struct map_region *region = &drawing->map->regions[r];
        const size_t y = MARGIN + r * region_height(drawing);

        for (size_t row = 0; row < drawing->rows; row++)
            draw_row(raster, drawing, region, row, y + row * drawing->row);
        draw_ticks(raster, drawing, region, y + drawing->rows * drawing->row);
    }
}

/* --- the file --------------------------------------------------------------------------------- */

static int write_raster(const struct raster *raster, const char *path, struct error *error)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)raster->width,
                       .height = (png_uint_32)raster->height,
                       .format = PNG_FORMAT_RGB};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    cleanup_free void *file = malloc(size);

    if (!file)
        return error_set(error, -ENOMEM, "%s: out of memory", path);
    if (!png_image_write_to_memory(&image, file, &size, 0, raster->pixels, 0, NULL))
        return error_set(error, -EIO, "%s: libpng: %s", path, image.message);

    int rc = whole_file_write(path, file, size);

    return rc < 0 ? error_set(error, rc, "%s: %s", path, strerror(-rc)) : 0;
}

static int write_drawing(struct drawing *drawing, const char *path, struct error *error)
{
    struct raster raster;
    int rc = lay_out(drawing, &raster, path, error);

    if (rc < 0)
        return rc;

    cleanup_free uint8_t *pixels = malloc(3 * raster.width * raster.height);

    if (!pixels)
        return error_set(error, -ENOMEM, "%s: out of memory", path);
    raster.pixels = pixels;
    draw(&raster, drawing);
    return write_raster(&raster, path, error);
}

int ram_map_png_write(const struct ram_map *map, const char *path, struct error *error)
{
    struct drawing drawing = {.map = map, .rows = map->n_windows + 1, .row = ROW};

    return write_drawing(&drawing, path, error);
}

int map_series_png_write(const struct map_series *series, const char *path, struct error *error)
{
    struct drawing drawing = {
        .map = &series->period[series->n - 1].map,
        .series = series,
        .some_flags = map_series_some_flags(series),
        .rows = series->n,
        .row = (size_t)fmax(ROW_LEAST, fmin(ROW, floor((double)HEIGHT / (double)series->n))),
    };

    return write_drawing(&drawing, path, error);
}

void map_png_begin(void)
{
    png_access_version_number();
}
