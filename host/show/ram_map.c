// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_map.c  The picture for the terminal; see ram_map.h. */
#include "show/ram_map.h"

#include "base/bytes.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/fit.h"
#include "show/note.h"
#include "show/sample_table.h"
#include "show/table.h"

#include <errno.h>
#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_WIDTH 80
#define LABEL 12 /* width of a line's label, with the blank */
#define LABEL_OF_TWO 21
#define SUM 12 /* width of the sum after a line, with the blank */
#define SHADES 5
#define FIRST_GREY 232 /* first grey of a terminal's 256 colours; the greys end near white */
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

/* --- rows ------------------------------------------------------------------------------------- */

/* A window's index, or one of these. */
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

    if (row < ROW_RESIDENT)
        snprintf(text, size, "in %s", SECONDS_TEXT(record->windows[row].window_s));
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

/* One line in each strip; all lines have the same regions and chunks. */
struct line {
    const struct ram_map *map;
    size_t row;
    char label[40];
};

/* One picture: the lines of each strip, and its style. */
struct picture {
    const struct ram_map *map;
    const struct map_style *style;
    struct line *lines;
    size_t n_lines;
};

/* Chooses the windows, resident memory, and the other rows if they occur in any chunk. Walks all
 * chunks once. */
static void choose_rows(struct picture *picture, const struct sample_record *record)
{
    const struct ram_map *map = picture->map;
    size_t n = 0;

    for (size_t w = 0; w < map->n_windows; w++)
        picture->lines[n++].row = w;
    picture->lines[n++].row = ROW_RESIDENT;
    for (size_t row = ROW_HUGE; row <= ROW_SWAPPED; row++) {
        uint64_t sum = 0;

        for (size_t r = 0; r < map->n_regions; r++)
            sum += sum_of(map, &map->regions[r], row);
        if (sum > 0)
            picture->lines[n++].row = row;
    }
    picture->n_lines = n;
    for (struct line *line = picture->lines; line < picture->lines + n; line++) {
        line->map = map;
        row_label(line->label, sizeof(line->label), record, line->row);
    }
}

/* --- a line ----------------------------------------------------------------------------------- */

static double share_of(const struct ram_map *map, size_t chunk, size_t row)
{
    return (double)row_bytes(map, chunk, row) / (double)ram_map_figures(map, chunk).bytes;
}

/* Only an empty chunk is blank, so a single page is visible. */
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

static void print_label(const struct picture *picture, const struct line *line, size_t n)
{
    char text[96];

    snprintf(text, sizeof(text), "%s", line->label);
    if (n > 1)
        snprintf(text, sizeof(text), "%s, %s", line[0].label,
                 line[1].label + (strncmp(line[1].label, "in ", 3) == 0 ? 3 : 0));
    printf("%*s|", label_width(picture->style), text);
}

struct strip {
    const struct map_region *region;
    size_t first, n; /* counted in chunks */
};

static void print_shades(const struct line *line, const struct strip *strip, bool utf8)
{
    const struct ram_map *map = line->map;

    for (size_t c = 0; c < strip->n; c++) {
        size_t chunk = strip->first + c;

        fputs(ram_map_figures(map, chunk).known ? shade(share_of(map, chunk, line->row), utf8)
                                                : "?",
              stdout);
    }
}

/* Prints the first line in the upper half of each cell, and the second in the lower half. */
static void print_halves(const struct line *line, const struct strip *strip)
{
    for (size_t c = 0; c < strip->n; c++) {
        size_t chunk = strip->first + c;

        if (ram_map_figures(line[0].map, chunk).known && ram_map_figures(line[1].map, chunk).known)
            printf("\033[38;5;%u;48;5;%um▀",
                   FIRST_GREY + shade_of(share_of(line[0].map, chunk, line[0].row), GREYS + 1),
                   FIRST_GREY + shade_of(share_of(line[1].map, chunk, line[1].row), GREYS + 1));
        else
            fputs("\033[0m?", stdout);
    }
    fputs("\033[0m", stdout);
}

static void print_sum(const struct line *line, const struct strip *strip)
{
    uint64_t sum = 0;

    for (size_t c = 0; c < strip->n; c++)
        sum += row_bytes(line->map, strip->first + c, line->row);
    printf("|%*s\n", SUM - 1, BYTES_TEXT(sum));
}

static void print_strip(const struct picture *picture, const struct strip *strip)
{
    for (size_t i = 0; i < picture->n_lines; i++) {
        const struct line *line = &picture->lines[i];
        bool pair = has_halves(picture->style) && i + 1 < picture->n_lines;

        print_label(picture, line, pair ? 2 : 1);
        if (pair)
            print_halves(line, strip);
        else
            print_shades(line, strip, picture->style->utf8);
        print_sum(pair ? line + 1 : line, strip);
        i += pair;
    }
}

/* --- the picture ------------------------------------------------------------------------------ */

#define FOUR_GIB (4ULL << 30)

const char *map_region_place(const struct map_region *region)
{
    if (region->gpa == GPA_NONE)
        return "";
    if (region->gpa >= FOUR_GIB)
        return ", above 4 GiB";
    return FOUR_GIB - region->gpa >= region->n_pages * base_page_bytes() ? ", below 4 GiB" : "";
}

static void print_region_head(const struct map_region *region)
{
    char block[64];

    printf("\n%s%s",
           region->dimm     ? "DIMM "
           : *region->block ? "block "
                            : "guest RAM",
           utf8_printable_copy(block, sizeof(block), region->block));
    if (region->node >= 0)
        printf(", node %d", region->node);
    printf("%s, %s\n", map_region_place(region), BYTES_TEXT(region->n_pages * base_page_bytes()));
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
    note("A panel: %llu to %llu pages of each character were looked at%s; --csv has the intervals, "
         "--census looks at all.\n",
         (unsigned long long)least, (unsigned long long)most, least == 0 ? ", \"?\" has none" : "");
}

static void print_regions(const struct picture *picture)
{
    for (size_t r = 0; r < picture->map->n_regions; r++)
        print_region(picture, &picture->map->regions[r]);
}

static void add_node(struct table *table, const struct ram_map *map,
                     const struct sample_record *record, int node)
{
    const struct map_figures figures = ram_map_node_figures(map, node);
    char name[16] = "none", ram[24], resident[24], window[24], wss[24], around[24];
    const char *const cells[] = {name, ram, resident, window, wss, around};

    if (node >= 0)
        snprintf(name, sizeof(name), "%d", node);
    show_bytes(ram, sizeof(ram), figures.bytes);
    show_bytes(resident, sizeof(resident), figures.resident_bytes);
    for (size_t w = 0; w < map->n_windows; w++) {
        const struct map_touched touched = ram_map_node_touched(map, node, w);

        show_seconds(window, sizeof(window), record->windows[w].window_s);
        show_bytes(wss, sizeof(wss), touched.bytes);
        show_error(around, sizeof(around), touched.bytes, touched.low_bytes, touched.high_bytes);
        table_row(table, cells);
    }
}

static void print_nodes(const struct ram_map *map, const struct sample_record *record)
{
    static const struct table_column columns[] = {
        {.name = "NODE", .right = true},     {.name = "RAM", .right = true},
        {.name = "RESIDENT", .right = true}, {.name = "WINDOW", .right = true},
        {.name = "WSS", .right = true},      {.name = "±", .right = true},
    };
    int nodes[RAM_MAP_MAX_NODES];
    const size_t n = ram_map_nodes(map, nodes);
    struct table *table = n > 0 ? table_new(columns, COUNT(columns)) : NULL;

    if (!table)
        return;
    for (size_t i = 0; i < n; i++)
        add_node(table, map, record, nodes[i]);
    putchar('\n');
    table_print(table, true);
    table_free(table);
}

void ram_map_print(const struct ram_map *map, const struct sample_record *record,
                   const struct map_style *style)
{
    struct line lines[RUN_MAX_WINDOWS + 4];
    struct picture picture = {.map = map, .style = style, .lines = lines};

    choose_rows(&picture, record);
    sample_head_print(record);
    note("Each character stands for %s: the %s, the more of it was touched within the window.\n",
         BYTES_TEXT(map->chunk_bytes), has_halves(style) ? "lighter" : "denser");
    print_precision(map);
    print_regions(&picture);
    print_nodes(map, record);
}

/* --- over time -------------------------------------------------------------------------------- */

char *map_period_clock(const struct map_period *period, char *text, size_t size)
{
    struct tm utc;

    gmtime_r(&period->record.time.tv_sec, &utc);
    if (strftime(text, size, "%H:%M:%S", &utc) == 0)
        *text = '\0';
    return text;
}

/* Writes the time, with a mark if the period has a flag that not all periods have. */
static void label_period(const struct map_period *period, unsigned some_flags, struct line *line)
{
    char clock[16];

    snprintf(line->label, sizeof(line->label), "%s%s", period->record.flags & some_flags ? "*" : "",
             map_period_clock(period, clock, sizeof(clock)));
}

static void print_series_head(const struct map_series *series, bool two_in_a_line)
{
    const struct sample_record head = map_series_head(series);
    const unsigned some_flags = map_series_some_flags(series);

    sample_head_print(&head);
    note("%zu period%s of %s, from %s on, each at the time (UTC) at which it ended%s; what is "
         "resident is as of the last.\n",
         series->n, series->n == 1 ? "" : "s", SECONDS_TEXT(head.windows[0].window_s),
         TIME_TEXT(map_series_begin_s(series), 0), two_in_a_line ? ", two in a line" : "");
    if (some_flags)
        note("Periods with flags that not all have are marked with *: %s.\n",
             SAMPLE_FLAGS(some_flags));
}

int map_series_print(const struct map_series *series, const struct map_style *style)
{
    const struct map_period *last = &series->period[series->n - 1];
    const unsigned some_flags = map_series_some_flags(series);
    struct picture picture = {.map = &last->map, .style = style, .n_lines = series->n};

    picture.lines = calloc(series->n, sizeof(*picture.lines));
    if (!picture.lines)
        return -ENOMEM;
    for (size_t i = 0; i < series->n; i++) {
        picture.lines[i].map = &series->period[i].map;
        label_period(&series->period[i], some_flags, &picture.lines[i]);
    }
    print_series_head(series, has_halves(style));
    note("Each character stands for %s: the %s, the more of it was touched in the period.\n",
         BYTES_TEXT(last->map.chunk_bytes), has_halves(style) ? "lighter" : "denser");
    print_precision(&last->map);
    if (!ram_map_is_complete(&last->map))
        note("Of a character, that share is right to within %.0f points (95 %%), at worst.\n",
             100 * map_series_widest(series));
    print_regions(&picture);
    free(picture.lines);
    return 0;
}
