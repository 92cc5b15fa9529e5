// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache_table.c  Prints the page cache of files for people. See cache.h. */
#include "print/cache.h"

#include "base/cleanup.h"
#include "base/page_sizes.h"
#include "base/text/units.h"
#include "print/columns.h"
#include "print/escape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CELL 32
#define BAR 60
#define TOTAL_NAME 128

/* A row for a file, or for the total. */
struct row {
    uint64_t size_bytes;
    uint64_t pages;
    struct cache_count count;
    const uint64_t *part;
    const char *name;
};

struct table {
    const struct cache_format *format;
    /* show cachestat's columns: they are known, and there is space besides the parts */
    bool detail;
    struct column column[COLUMNS_MAX];
    char heading[CACHE_PARTS_MAX][8];
    size_t n;
    struct columns *columns;
};

char *cache_name(const struct cache_format *format, const struct cache_file *file, bool *escaped)
{
    const char *slash = format->basename ? strrchr(file->name, '/') : NULL;

    return escape_name(slash && slash[1] ? slash + 1 : file->name, escaped);
}

static void add_column(struct table *table, const char *name, bool right)
{
    table->column[table->n++] = (struct column){.name = name, .right = right};
}

/* Writes the position where part @p i begins. */
static const char *part_heading(char heading[8], unsigned i, unsigned parts)
{
    snprintf(heading, 8, "%u%%", 100 * i / parts);
    return heading;
}

static void set_columns(struct table *table)
{
    static const char *const first[] = {"SIZE", "PAGES", "CACHED", "BYTES", "PERCENT"};
    static const char *const detail[] = {"DIRTY", "WRITEBACK", "EVICTED", "RECENT"};
    unsigned parts = table->format->parts;

    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        add_column(table, first[i], true);
    for (size_t i = 0; table->detail && i < sizeof(detail) / sizeof(detail[0]); i++)
        add_column(table, detail[i], true);
    for (unsigned i = 0; i < parts; i++) {
        add_column(table, part_heading(table->heading[i], i, parts), true);
    }
    add_column(table, "FILE", false);
}

static void number_cell(char *cell, uint64_t value)
{
    if (value == CACHE_UNKNOWN)
        snprintf(cell, CELL, "-");
    else
        snprintf(cell, CELL, "%llu", (unsigned long long)value);
}

static void bytes_cell(const struct cache_format *format, char *cell, uint64_t bytes)
{
    if (format->bytes)
        number_cell(cell, bytes);
    else
        show_bytes(cell, CELL, bytes);
}

/* Rounds down, so that 100.0 means all of it. */
static void percent_cell(char *cell, uint64_t cached, uint64_t pages, const char *unit)
{
    if (pages == 0)
        snprintf(cell, CELL, "-");
    else
        snprintf(cell, CELL, "%.1f%s", floor(1000 * cache_share(cached, pages)) / 10, unit);
}

/* Writes the cached share of part @p i of a file of @p pages pages; @p part is NULL if it is not
 * known. */
static void part_cell(char *cell, const struct cache_format *format, const uint64_t *part,
                      uint64_t pages, unsigned i)
{
    uint64_t first = cache_part_first(pages, i, format->parts);
    uint64_t end = cache_part_first(pages, i + 1, format->parts);

    percent_cell(cell, part ? part[i] : 0, part ? end - first : 0, "");
}

static void add_row(struct table *table, const struct row *row)
{
    const struct cache_format *format = table->format;
    const uint64_t detail[] = {row->count.dirty, row->count.writeback, row->count.evicted,
                               row->count.recently_evicted};
    char cell[COLUMNS_MAX][CELL] = {0};
    const char *text[COLUMNS_MAX];
    size_t n = 0;
    bool known = row->count.cached != CACHE_UNKNOWN;

    bytes_cell(format, cell[n++], row->size_bytes);
    number_cell(cell[n++], row->pages);
    number_cell(cell[n++], row->count.cached);
    if (known)
        bytes_cell(format, cell[n], row->count.cached * base_page_bytes());
    else
        snprintf(cell[n], CELL, "unknown");
    percent_cell(cell[++n], cache_within_eof(&row->count), known ? row->pages : 0, "%");
    n++;
    for (size_t i = 0; table->detail && i < sizeof(detail) / sizeof(detail[0]); i++)
        number_cell(cell[n++], detail[i]);
    for (unsigned i = 0; i < format->parts; i++)
        part_cell(cell[n++], format, row->part, row->pages, i);
    for (size_t i = 0; i < n; i++)
        text[i] = cell[i];
    text[n] = row->name;
    columns_row(table->columns, text);
}

static void add_file(struct table *table, const struct cache_file *file)
{
    bool escaped;
    cleanup_free char *name = cache_name(table->format, file, &escaped);

    add_row(table, &(struct row){.size_bytes = file->size_bytes,
                                 .pages = file->pages,
                                 .count = file->count,
                                 .part = file->part,
                                 .name = name ? name : ""});
}

static void total_name(char name[TOTAL_NAME], const struct cache_total *total)
{
    int used = snprintf(name, TOTAL_NAME, "total of %llu",
                        (unsigned long long)(total->files - total->unknown_files));

    if (total->unknown_files > 0)
        used += snprintf(name + used, TOTAL_NAME - (size_t)used, ", %llu more unknown",
                         (unsigned long long)total->unknown_files);
    if (total->not_entered > 0)
        snprintf(name + used, TOTAL_NAME - (size_t)used, ", %llu mounts not entered",
                 (unsigned long long)total->not_entered);
}

static void add_total(struct table *table, const struct cache_total *total)
{
    char name[TOTAL_NAME];

    total_name(name, total);
    add_row(table, &(struct row){.size_bytes = total->size_bytes,
                                 .pages = total->pages,
                                 .count = total->count,
                                 .name = name});
}

static bool anybody_knows(const struct cache_file *file, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (file[i].pages > 0 && file[i].count.dirty != CACHE_UNKNOWN)
            return true;
    return false;
}

void cache_print_table(const struct cache_format *format, const struct cache_file *file, size_t n,
                       const struct cache_total *total)
{
    struct table table = {.format = format};

    table.detail = format->parts == 0 &&
                   (anybody_knows(file, n) || (n == 0 && total->count.dirty != CACHE_UNKNOWN));
    set_columns(&table);
    table.columns = columns_new(table.column, table.n);
    for (size_t i = 0; i < n; i++)
        add_file(&table, &file[i]);
    add_total(&table, total);
    columns_end(table.columns, !format->no_header, stdout);
}

/* The number of cached pages in first .. end - 1. */
static uint64_t cached_within(const struct cache_runs *runs, uint64_t first, uint64_t end)
{
    uint64_t cached = 0;

    for (size_t i = 0; i < runs->n && runs->run[i].first < end; i++) {
        uint64_t from = runs->run[i].first > first ? runs->run[i].first : first;
        uint64_t to = runs->run[i].first + runs->run[i].pages;

        to = to < end ? to : end;
        cached += to > from ? to - from : 0;
    }
    return cached;
}

static void print_bar(const struct cache_file *file)
{
    unsigned n = file->pages < BAR ? (unsigned)file->pages : BAR;
    char bar[BAR + 1] = "";

    for (unsigned i = 0; i < n; i++) {
        uint64_t first = cache_part_first(file->pages, i, n);
        uint64_t end = cache_part_first(file->pages, i + 1, n);
        uint64_t cached = cached_within(&file->runs, first, end);

        bar[i] = "Oo "[cached == end - first ? 0 : cached > 0 ? 1 : 2];
    }
    printf("[%s] %llu/%llu\n", bar, (unsigned long long)cache_within_eof(&file->count),
           (unsigned long long)file->pages);
}

static void print_runs(const struct cache_format *format, const struct cache_runs *runs)
{
    static const struct column column[] = {
        {"FIRST", true}, {"LAST", true}, {"PAGES", true}, {"BYTES", true}};
    struct columns *columns = columns_new(column, 4);

    for (size_t i = 0; i < runs->n; i++) {
        const struct cache_run *run = &runs->run[i];
        char cell[4][CELL];

        number_cell(cell[0], run->first);
        number_cell(cell[1], run->first + run->pages - 1);
        number_cell(cell[2], run->pages);
        bytes_cell(format, cell[3], run->pages * base_page_bytes());
        columns_row(columns, (const char *[]){cell[0], cell[1], cell[2], cell[3]});
    }
    columns_end(columns, !format->no_header, stdout);
}

/* Prints the columns of the parts as a separate table. */
static void print_parts(const struct cache_format *format, const struct cache_file *file)
{
    struct column column[CACHE_PARTS_MAX];
    char heading[CACHE_PARTS_MAX][8], cell[CACHE_PARTS_MAX][CELL];
    const char *text[CACHE_PARTS_MAX];

    for (unsigned i = 0; i < format->parts; i++) {
        column[i] = (struct column){.name = part_heading(heading[i], i, format->parts),
                                    .right = true};
        part_cell(cell[i], format, file->part, file->pages, i);
        text[i] = cell[i];
    }

    struct columns *columns = columns_new(column, format->parts);

    columns_row(columns, text);
    columns_end(columns, !format->no_header, stdout);
}

static void print_map(const struct cache_format *format, const struct cache_file *file)
{
    bool escaped;
    cleanup_free char *name = cache_name(format, file, &escaped);

    printf("%s\n", name ? name : "");
    if (!cache_places_known(file)) {
        puts("unknown");
        return;
    }
    print_bar(file);
    if (format->parts > 0)
        print_parts(format, file);
    if (file->runs.n > 0)
        print_runs(format, &file->runs);
}

void cache_print_maps(const struct cache_format *format, const struct cache_file *file, size_t n,
                      const struct cache_total *total)
{
    char name[TOTAL_NAME];

    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            putchar('\n');
        print_map(format, &file[i]);
    }
    if (total->files == 1 && n == 1)
        return;
    total_name(name, total);
    printf("%s%s: %llu/%llu\n", n > 0 ? "\n" : "", name,
           (unsigned long long)cache_within_eof(&total->count), (unsigned long long)total->pages);
}
