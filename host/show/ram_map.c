// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_map.c  The picture for the terminal; see ram_map.h. */
#include "show/ram_map.h"

#include "base/bytes.h"
#include "base/utf8.h"
#include "show/fit.h"
#include "show/sample_table.h"
#include "show/table.h"
#include "show/units.h"

#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_WIDTH 80
#define LABEL 12 /* before a line, with the blank */
#define LABEL_OF_TWO 21
#define SUM 12 /* behind it, likewise */
#define SHADES 5
#define FIRST_GREY 232 /* of the 256 colours of a terminal, up to white */
#define GREYS 23

struct map_style map_style_of_output(void)
{
    size_t width = fit_output_width();

    return (struct map_style){
        .width = width ? width : DEFAULT_WIDTH,
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .colours = table_colours(),
    };
}

static bool has_halves(const struct map_style *style)
{
    return style->utf8 && style->colours;
}

static int label_width(const struct map_style *style)
{
    return has_halves(style) ? LABEL_OF_TWO : LABEL;
}

size_t map_cells(const struct map_style *style)
{
    const size_t rest = (size_t)label_width(style) + SUM + 2;

    return style->width > rest + 8 ? style->width - rest : 8;
}

/* --- what the lines are of -------------------------------------------------------------------- */

/* A window's number, or one of these. */
enum row_kind { ROW_RESIDENT = RUN_MAX_WINDOWS, ROW_HUGE, ROW_UNMEASURABLE, ROW_SWAPPED };

static uint64_t row_bytes(const struct ram_map *map, size_t chunk, size_t row)
{
    const struct map_figures figures = ram_map_figures(map, chunk);

    if (row < map->n_windows)
        return ram_map_touched(map, chunk, row).bytes;
    return row == ROW_RESIDENT       ? figures.resident_bytes
           : row == ROW_HUGE         ? figures.huge_bytes
           : row == ROW_UNMEASURABLE ? figures.unmeasurable_bytes
                                     : figures.swapped_bytes;
}

static void row_label(char *text, size_t size, const struct sample_record *record, size_t row)
{
    static const char *const names[] = {"resident", "huge pages", "unmeasured", "swapped"};
    char window[24];

    if (row < ROW_RESIDENT)
        snprintf(text, size, "in %s",
                 show_seconds(window, sizeof(window), record->windows[row].window_s));
    else
        snprintf(text, size, "%s", names[row - ROW_RESIDENT]);
}

static uint64_t sum_of(const struct ram_map *map, const struct map_region *region, size_t row)
{
    uint64_t sum = 0;

    for (size_t c = 0; c < region->n_chunks; c++)
        sum += row_bytes(map, region->first_chunk + c, row);
    return sum;
}

/* One picture: the lines of each strip, and how it is drawn. */
struct picture {
    const struct ram_map *map;
    const struct sample_record *record;
    const struct map_style *style;
    size_t rows[RUN_MAX_WINDOWS + 4];
    size_t n_rows;
};

/* The windows, what is resident, and what there is of the rest anywhere. All chunks are walked:
 * once. */
static void choose_rows(struct picture *picture)
{
    const struct ram_map *map = picture->map;
    size_t n = 0;

    for (size_t w = 0; w < map->n_windows; w++)
        picture->rows[n++] = w;
    picture->rows[n++] = ROW_RESIDENT;
    for (size_t row = ROW_HUGE; row <= ROW_SWAPPED; row++) {
        uint64_t sum = 0;

        for (size_t r = 0; r < map->n_regions; r++)
            sum += sum_of(map, &map->regions[r], row);
        if (sum > 0)
            picture->rows[n++] = row;
    }
    picture->n_rows = n;
}

/* --- a line ----------------------------------------------------------------------------------- */

static double share_of(const struct ram_map *map, size_t chunk, size_t row)
{
    return (double)row_bytes(map, chunk, row) / (double)ram_map_figures(map, chunk).bytes;
}

/* Nothing is a blank, and a single page is not nothing. */
static unsigned shade_of(double share, unsigned shades)
{
    return share <= 0 ? 0 : 1 + (unsigned)fmin(shades - 2, floor(share * (shades - 1)));
}

static const char *shade(double share, bool utf8)
{
    static const char *const blocks[SHADES] = {" ", "░", "▒", "▓", "█"};
    static const char *const plain[SHADES] = {" ", ".", ":", "+", "#"};

    return (utf8 ? blocks : plain)[shade_of(share, SHADES)];
}

static void print_label(const struct picture *picture, const size_t *rows, size_t n)
{
    const struct sample_record *record = picture->record;
    char one[40];
    char two[40];

    row_label(one, sizeof(one), record, rows[0]);
    if (n > 1) {
        row_label(two, sizeof(two), record, rows[1]);
        snprintf(one + strlen(one), sizeof(one) - strlen(one), ", %s",
                 two + (strncmp(two, "in ", 3) == 0 ? 3 : 0));
    }
    printf("%*s|", label_width(picture->style), one);
}

struct strip {
    const struct map_region *region;
    size_t first, n; /* chunks */
};

static void print_shades(const struct ram_map *map, const struct strip *strip, size_t row,
                         bool utf8)
{
    for (size_t c = 0; c < strip->n; c++) {
        size_t chunk = strip->first + c;

        fputs(ram_map_figures(map, chunk).known ? shade(share_of(map, chunk, row), utf8) : "?",
              stdout);
    }
}

/* The upper half of each cell is the first row, the lower half the second. */
static void print_halves(const struct ram_map *map, const struct strip *strip, const size_t *rows)
{
    for (size_t c = 0; c < strip->n; c++) {
        size_t chunk = strip->first + c;

        if (ram_map_figures(map, chunk).known)
            printf("\033[38;5;%u;48;5;%um▀",
                   FIRST_GREY + shade_of(share_of(map, chunk, rows[0]), GREYS + 1),
                   FIRST_GREY + shade_of(share_of(map, chunk, rows[1]), GREYS + 1));
        else
            fputs("\033[0m?", stdout);
    }
    fputs("\033[0m", stdout);
}

static void print_sum(const struct ram_map *map, const struct strip *strip, size_t row)
{
    uint64_t sum = 0;
    char text[32];

    for (size_t c = 0; c < strip->n; c++)
        sum += row_bytes(map, strip->first + c, row);
    printf("|%*s\n", SUM - 1, show_bytes(text, sizeof(text), sum));
}

static void print_strip(const struct picture *picture, const struct strip *strip)
{
    const struct ram_map *map = picture->map;
    const size_t *rows = picture->rows;

    for (size_t i = 0; i < picture->n_rows; i++) {
        bool pair = has_halves(picture->style) && i + 1 < picture->n_rows;

        print_label(picture, &rows[i], pair ? 2 : 1);
        if (pair)
            print_halves(map, strip, &rows[i]);
        else
            print_shades(map, strip, rows[i], picture->style->utf8);
        print_sum(map, strip, rows[pair ? ++i : i]);
    }
}

/* --- the picture ------------------------------------------------------------------------------ */

static void print_region_head(const struct map_region *region)
{
    char bytes[32];
    char block[64];

    printf("\n%s%s",
           region->dimm     ? "DIMM "
           : *region->block ? "block "
                            : "guest RAM",
           utf8_printable_copy(block, sizeof(block), region->block));
    if (region->node >= 0)
        printf(", node %d", region->node);
    if (region->gpa != GPA_NONE)
        printf(", %s 4 GiB", region->gpa >= 4ULL << 30 ? "above" : "below");
    printf(", %s\n", show_bytes(bytes, sizeof(bytes), region->n_pages * BASE_PAGE_BYTES));
}

static void print_strip_head(const struct picture *picture, const struct strip *strip)
{
    const int margin = label_width(picture->style) + 1;
    const uint64_t offset = (strip->first - strip->region->first_chunk) * picture->map->chunk_bytes;

    if (strip->region->gpa == GPA_NONE)
        printf("%*s+0x%llx\n", margin, "", (unsigned long long)offset);
    else
        printf("%*s0x%llx\n", margin, "", (unsigned long long)(strip->region->gpa + offset));
}

static void print_region(const struct picture *picture, const struct map_region *region)
{
    const size_t cells = map_cells(picture->style);

    print_region_head(region);
    for (size_t c = 0; c < region->n_chunks; c += cells) {
        const struct strip strip = {region, region->first_chunk + c,
                                    region->n_chunks - c < cells ? region->n_chunks - c : cells};

        print_strip_head(picture, &strip);
        print_strip(picture, &strip);
    }
}

static void print_precision(const struct ram_map *map)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;

    if (ram_map_is_complete(map))
        return;
    for (size_t c = 0; c < map->n_chunks; c++) {
        least = smaller(least, map->chunks[c].drawn);
        most = larger(most, map->chunks[c].drawn);
    }
    printf(
        "A panel: %llu to %llu pages of each character were looked at%s; --csv has the intervals, "
        "--census looks at all.\n",
        (unsigned long long)least, (unsigned long long)most, least == 0 ? ", \"?\" has none" : "");
}

void ram_map_print(const struct ram_map *map, const struct sample_record *record,
                   const struct map_style *style)
{
    struct picture picture = {.map = map, .record = record, .style = style};
    char bytes[32];

    choose_rows(&picture);
    sample_head_print(record);
    printf("Each character stands for %s: the %s, the more of it was touched within the window.\n",
           show_bytes(bytes, sizeof(bytes), map->chunk_bytes),
           has_halves(style) ? "lighter" : "denser");
    print_precision(map);
    for (size_t r = 0; r < map->n_regions; r++)
        print_region(&picture, &map->regions[r]);
}
