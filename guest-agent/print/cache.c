// SPDX-License-Identifier: LGPL-2.1-or-later
#include "print/cache.h"

#include "base/cleanup.h"
#include "base/page_sizes.h"
#include "base/text/csv.h"
#include "base/text/json.h"
#include "print/escape.h"
#include "print/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BAR 60
#define PART_KEY 24

#define NUMBER(text)                  \
    {                                 \
        .name = (text), .right = true \
    }
/* Columns between PARTS_AT and the last are those of the parts. */
static const struct sheet_column columns[] = {
    {"size_bytes", NUMBER("SIZE")},
    {"pages", NUMBER("PAGES")},
    {"cached_pages", NUMBER("CACHED")},
    {"cached_bytes", NUMBER("BYTES")},
    {"cached_percent", NUMBER("PERCENT")},
    {"dirty_pages", NUMBER("DIRTY")},
    {"writeback_pages", NUMBER("WRITEBACK")},
    {"evicted_pages", NUMBER("EVICTED")},
    {"recently_evicted_pages", NUMBER("RECENT")},
};
#define N_COLUMNS COUNT(columns)
#define FIRST_DETAIL 5 /* the columns from here on are cachestat's */

static const char *const csv_names[] = {"name",
                                        "name_escaped",
                                        "size_bytes",
                                        "pages",
                                        "cached_pages",
                                        "dirty_pages",
                                        "writeback_pages",
                                        "evicted_pages",
                                        "recently_evicted_pages",
                                        "cached_bytes",
                                        "cached_percent",
                                        "method",
                                        "unknown",
                                        "beyond_eof_pages"};
#define N_NAMES COUNT(csv_names)

/* The sheet, and the columns of the parts. */
struct printer {
    const struct cache_format *format;
    struct sheet sheet;
    struct {
        char key[PART_KEY], heading[8]; /* the heading: where the part begins */
    } part[CACHE_PARTS_MAX];
    struct sheet_column columns[N_COLUMNS + CACHE_PARTS_MAX + 1];
    const char *csv_names[N_NAMES + CACHE_PARTS_MAX + 1];
};

static void name_columns(struct printer *printer)
{
    const unsigned parts = printer->format->parts;

    memcpy(printer->columns, columns, sizeof(columns));
    memcpy(printer->csv_names, csv_names, sizeof(csv_names));
    for (unsigned i = 0; i < parts; i++) {
        snprintf(printer->part[i].key, PART_KEY, "part_%u_percent", i + 1);
        snprintf(printer->part[i].heading, 8, "%u%%", 100 * i / parts);
        printer->csv_names[N_NAMES + i] = printer->part[i].key;
        printer->columns[N_COLUMNS + i] = (struct sheet_column){printer->part[i].key,
                                                                NUMBER(printer->part[i].heading)};
    }
    printer->columns[N_COLUMNS + parts] = (struct sheet_column){"name", {.name = "FILE"}};
}

static void set_bytes(struct printer *printer, const char *key, uint64_t bytes)
{
    if (printer->format->bytes)
        sheet_count(&printer->sheet, key, bytes);
    else
        sheet_bytes(&printer->sheet, key, bytes);
}

/* Writes a percentage for a table, rounded down so that 100.0 means all of it. */
static const char *percent_text(char text[16], double share, const char *unit)
{
    snprintf(text, 16, "%.1f%s", floor(1000 * share) / 10, unit);
    return text;
}

static void set_counts(struct printer *printer, uint64_t size_bytes, uint64_t pages,
                       const struct cache_count *count)
{
    struct sheet *sheet = &printer->sheet;
    const bool known = count->cached != CACHE_UNKNOWN;
    double share = known ? cache_share(cache_within_eof(count), pages) : NAN;
    char text[16];

    set_bytes(printer, "size_bytes", size_bytes);
    sheet_count(sheet, "pages", pages);
    sheet_count(sheet, "cached_pages", count->cached);
    sheet_count(sheet, "dirty_pages", count->dirty);
    sheet_count(sheet, "writeback_pages", count->writeback);
    sheet_count(sheet, "evicted_pages", count->evicted);
    sheet_count(sheet, "recently_evicted_pages", count->recently_evicted);
    set_bytes(printer, "cached_bytes", known ? count->cached * base_page_bytes() : CACHE_UNKNOWN);
    if (!known)
        sheet_cell(sheet, "cached_bytes", "unknown");
    sheet_real(sheet, "cached_percent", 100 * share);
    if (known)
        sheet_cell(sheet, "cached_percent", "%s", pages > 0 ? percent_text(text, share, "%") : "-");
    sheet_count(sheet, "beyond_eof_pages", known ? count->beyond_eof : CACHE_UNKNOWN);
}

/* Sets the cached share of each part; it is unknown if the part is empty. */
static void set_parts(struct printer *printer, const struct cache_file *file)
{
    const unsigned n = printer->format->parts;
    const bool list = printer->sheet.format == SHOW_JSON;
    cleanup_json json_t *parts = json_array();

    for (unsigned i = 0; i < n; i++) {
        uint64_t pages = cache_part_first(file->pages, i + 1, n) -
                         cache_part_first(file->pages, i, n);
        const bool known = pages > 0 && file->part;
        double share = known ? cache_share(file->part[i], pages) : 0;
        json_t *percent = known ? json_real(100 * share) : json_null();
        char text[16];

        if (list)
            json_array_append_new(parts, percent);
        else
            sheet_put(&printer->sheet, printer->part[i].key, percent,
                      percent_text(text, share, ""));
    }
    if (list)
        sheet_json(&printer->sheet, "parts_percent", json_incref(parts));
}

static void set_runs(struct printer *printer, const struct cache_runs *runs)
{
    static const struct sheet_column run_columns[] = {{"first_page", NUMBER("FIRST")},
                                                      {"last", NUMBER("LAST")},
                                                      {"pages", NUMBER("PAGES")},
                                                      {"bytes", NUMBER("BYTES")}};
    struct sheet *sheet = &printer->sheet;

    sheet_list(sheet, "runs", run_columns, 4);
    for (size_t i = 0; i < runs->n; i++) {
        const struct cache_run *run = &runs->run[i];

        sheet_row(sheet);
        sheet_count(sheet, "first_page", run->first);
        sheet_cell(sheet, "last", "%" PRIu64, run->first + run->pages - 1);
        sheet_count(sheet, "pages", run->pages);
        if (sheet->format == SHOW_TABLE)
            set_bytes(printer, "bytes", run->pages * base_page_bytes());
    }
    sheet_close(sheet);
}

/* --- which pages, for people ------------------------------------------------------------------ */

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
    printf("[%s] %" PRIu64 "/%" PRIu64 "\n", bar, cache_within_eof(&file->count), file->pages);
}

static void print_map(struct printer *printer, const struct cache_file *file)
{
    const unsigned parts = printer->format->parts;

    if (!cache_places_known(file)) {
        puts("unknown");
        return;
    }
    print_bar(file);
    if (parts > 0) {
        sheet_list(&printer->sheet, "parts", &printer->columns[N_COLUMNS], parts);
        sheet_row(&printer->sheet);
        set_parts(printer, file);
        sheet_close(&printer->sheet);
    }
    if (file->runs.n > 0)
        set_runs(printer, &file->runs);
}

/* --- files, and their total ------------------------------------------------------------------- */

static bool prints_maps(const struct printer *printer)
{
    return printer->format->map && printer->sheet.format == SHOW_TABLE;
}

static void set_file(struct printer *printer, const struct cache_file *file)
{
    const struct cache_format *format = printer->format;
    const char *slash = format->basename ? strrchr(file->name, '/') : NULL;
    struct sheet *sheet = &printer->sheet;
    bool escaped;
    cleanup_free char *name = escape_name(slash && slash[1] ? slash + 1 : file->name, &escaped);

    sheet_row(sheet);
    if (prints_maps(printer)) {
        puts(name ? name : "");
        print_map(printer, file);
        return;
    }
    sheet_text(sheet, "name", name);
    if (escaped || sheet->format == SHOW_CSV)
        sheet_bool(sheet, "name_escaped", escaped);
    set_counts(printer, file->size_bytes, file->pages, &file->count);
    sheet_text(sheet, "method", file->method);
    sheet_text(sheet, "unknown", file->unknown ? file->unknown : "");
    if (format->parts > 0)
        set_parts(printer, file);
    if (format->map && cache_places_known(file))
        set_runs(printer, &file->runs);
}

#define TOTAL_NAME 128

static char *total_name(char name[TOTAL_NAME], const struct cache_total *total)
{
    int used = snprintf(name, TOTAL_NAME, "total of %" PRIu64, total->files - total->unknown_files);

    if (total->unknown_files > 0)
        used += snprintf(name + used, TOTAL_NAME - (size_t)used, ", %" PRIu64 " more unknown",
                         total->unknown_files);
    if (total->not_entered > 0)
        snprintf(name + used, TOTAL_NAME - (size_t)used, ", %" PRIu64 " mounts not entered",
                 total->not_entered);
    return name;
}

static void set_total(struct printer *printer, const struct cache_total *total)
{
    struct sheet *sheet = &printer->sheet;
    char name[TOTAL_NAME];

    sheet_total(sheet, "total");
    sheet_count(sheet, "files", total->files);
    sheet_count(sheet, "unknown_files", total->unknown_files);
    sheet_count(sheet, "unknown_bytes", total->unknown_bytes);
    sheet_count(sheet, "not_entered", total->not_entered);
    set_counts(printer, total->size_bytes, total->pages, &total->count);
    if (total->interrupted)
        sheet_bool(sheet, "interrupted", true);
    for (unsigned i = 0; i < printer->format->parts; i++)
        sheet_cell(sheet, printer->part[i].key, "-");
    sheet_cell(sheet, "name", "%s", total_name(name, total));
}

/* Returns true if cachestat's columns are shown: they are known, and there is space besides the
 * parts. */
static bool shows_detail(const struct cache_format *format, const struct cache_file *file, size_t n,
                         const struct cache_total *total)
{
    bool known = n == 0 && total->count.dirty != CACHE_UNKNOWN;

    for (size_t i = 0; i < n && !known; i++)
        known = file[i].pages > 0 && file[i].count.dirty != CACHE_UNKNOWN;
    return known && format->parts == 0;
}

static void begin(struct printer *printer, bool detail)
{
    const struct cache_format *format = printer->format;
    struct sheet *sheet = &printer->sheet;

    name_columns(printer);
    record_begin(sheet, format->show, "vmwss.guest_cache.v1");
    sheet->no_heading = format->no_header;
    sheet->csv = printer->csv_names;
    if (format->show == SHOW_CSV && !format->no_header)
        csv_heading(sheet->csv);
    sheet_count(sheet, "page_bytes", base_page_bytes());
    sheet_list(sheet, "files", prints_maps(printer) ? NULL : printer->columns,
               N_COLUMNS + format->parts + 1);
    for (size_t i = FIRST_DETAIL; i < N_COLUMNS && !detail; i++)
        sheet_hide(sheet, columns[i].key);
}

int cache_print(const struct cache_format *format, const struct cache_file *file, size_t n,
                const struct cache_total *total)
{
    struct printer printer = {.format = format};
    char name[TOTAL_NAME];

    begin(&printer, shows_detail(format, file, n, total));
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && prints_maps(&printer))
            putchar('\n');
        set_file(&printer, &file[i]);
    }
    if (prints_maps(&printer) && (total->files != 1 || n != 1))
        printf("%s%s: %" PRIu64 "/%" PRIu64 "\n", n > 0 ? "\n" : "", total_name(name, total),
               cache_within_eof(&total->count), total->pages);
    else if (!prints_maps(&printer) && format->show != SHOW_CSV)
        set_total(&printer, total);
    sheet_close(&printer.sheet);
    return sheet_end(&printer.sheet);
}
