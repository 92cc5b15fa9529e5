// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache_record.c  Prints the page cache of files for programs: CSV and JSON. See cache.h. */
#include "print/cache.h"

#include "base/cleanup.h"
#include "base/page_sizes.h"
#include "base/text/csv.h"
#include "base/text/json.h"
#include "print/record.h"

#include <stdio.h>

/* The members of a count, with their names in CSV and JSON. */
#define N_COUNTS 5
static const char *const count_name[N_COUNTS] = {"cached_pages", "dirty_pages", "writeback_pages",
                                                 "evicted_pages", "recently_evicted_pages"};
static const char beyond_name[] = "beyond_eof_pages";

static void list_counts(const struct cache_count *count, uint64_t value[N_COUNTS])
{
    value[0] = count->cached;
    value[1] = count->dirty;
    value[2] = count->writeback;
    value[3] = count->evicted;
    value[4] = count->recently_evicted;
}

/* The cached share of part @p i; negative if the part is empty or not known. */
static double part_share(const struct cache_format *format, const struct cache_file *file,
                         unsigned i)
{
    uint64_t pages = cache_part_first(file->pages, i + 1, format->parts) -
                     cache_part_first(file->pages, i, format->parts);

    return pages > 0 && file->part ? cache_share(file->part[i], pages) : -1;
}

static void csv_header(const struct cache_format *format)
{
    struct csv csv = {0};

    csv_text(&csv, "name");
    csv_text(&csv, "name_escaped");
    csv_text(&csv, "size_bytes");
    csv_text(&csv, "pages");
    for (size_t i = 0; i < N_COUNTS; i++)
        csv_text(&csv, count_name[i]);
    csv_text(&csv, "cached_bytes");
    csv_text(&csv, "cached_percent");
    csv_text(&csv, "method");
    csv_text(&csv, "unknown");
    csv_text(&csv, beyond_name);
    for (unsigned i = 0; i < format->parts; i++) {
        char name[32];

        snprintf(name, sizeof(name), "part_%u_percent", i + 1);
        csv_text(&csv, name);
    }
    csv_end(&csv);
}

static void csv_file(const struct cache_format *format, const struct cache_file *file)
{
    struct csv csv = {0};
    bool escaped;
    cleanup_free char *name = cache_name(format, file, &escaped);
    uint64_t value[N_COUNTS];

    list_counts(&file->count, value);
    csv_text(&csv, name ? name : "");
    csv_whole(&csv, escaped);
    csv_whole(&csv, file->size_bytes);
    csv_whole(&csv, file->pages);
    for (size_t i = 0; i < N_COUNTS; i++)
        value[i] == CACHE_UNKNOWN ? csv_nothing(&csv) : csv_whole(&csv, value[i]);
    if (file->unknown) {
        csv_nothing(&csv);
        csv_nothing(&csv);
    } else {
        csv_whole(&csv, file->count.cached * base_page_bytes());
        csv_number(&csv, 100 * cache_share(cache_within_eof(&file->count), file->pages));
    }
    csv_text(&csv, file->method);
    csv_text(&csv, file->unknown ? file->unknown : "");
    file->unknown ? csv_nothing(&csv) : csv_whole(&csv, file->count.beyond_eof);
    for (unsigned i = 0; i < format->parts; i++) {
        double share = part_share(format, file, i);

        share < 0 ? csv_nothing(&csv) : csv_number(&csv, 100 * share);
    }
    csv_end(&csv);
}

void cache_print_csv(const struct cache_format *format, const struct cache_file *file, size_t n)
{
    if (!format->no_header)
        csv_header(format);
    for (size_t i = 0; i < n; i++)
        csv_file(format, &file[i]);
}

static void set_counts(json_t *object, uint64_t pages, const struct cache_count *count)
{
    uint64_t value[N_COUNTS];

    list_counts(count, value);
    json_object_set_new(object, "pages", json_u64(pages));
    for (size_t i = 0; i < N_COUNTS; i++)
        if (value[i] != CACHE_UNKNOWN)
            json_object_set_new(object, count_name[i], json_u64(value[i]));
    if (count->cached == CACHE_UNKNOWN)
        return;
    json_object_set_new(object, "cached_bytes", json_u64(count->cached * base_page_bytes()));
    json_object_set_new(object, "cached_percent",
                        json_real(100 * cache_share(cache_within_eof(count), pages)));
    json_object_set_new(object, beyond_name, json_u64(count->beyond_eof));
}

static void set_parts(json_t *object, const struct cache_format *format,
                      const struct cache_file *file)
{
    json_t *parts = json_array();

    for (unsigned i = 0; i < format->parts; i++) {
        double share = part_share(format, file, i);

        json_array_append_new(parts, share < 0 ? json_null() : json_real(100 * share));
    }
    json_object_set_new(object, "parts_percent", parts);
}

static void set_runs(json_t *object, const struct cache_runs *runs)
{
    json_t *list = json_array();

    for (size_t i = 0; i < runs->n; i++)
        json_array_append_new(list, json_pack("{so so}", "first_page", json_u64(runs->run[i].first),
                                              "pages", json_u64(runs->run[i].pages)));
    json_object_set_new(object, "runs", list);
}

static json_t *file_json(const struct cache_format *format, const struct cache_file *file)
{
    bool escaped;
    cleanup_free char *name = cache_name(format, file, &escaped);
    json_t *object = json_object();

    json_object_set_new(object, "name", json_text(name));
    if (escaped)
        json_object_set_new(object, "name_escaped", json_true());
    json_object_set_new(object, "size_bytes", json_u64(file->size_bytes));
    set_counts(object, file->pages, &file->count);
    if (*file->method)
        json_object_set_new(object, "method", json_string(file->method));
    if (file->unknown)
        json_object_set_new(object, "unknown", json_string(file->unknown));
    if (format->parts > 0)
        set_parts(object, format, file);
    if (format->map && cache_places_known(file))
        set_runs(object, &file->runs);
    return object;
}

static json_t *total_json(const struct cache_total *total)
{
    json_t *object = json_object();

    json_object_set_new(object, "files", json_u64(total->files));
    json_object_set_new(object, "unknown_files", json_u64(total->unknown_files));
    json_object_set_new(object, "unknown_bytes", json_u64(total->unknown_bytes));
    json_object_set_new(object, "not_entered", json_u64(total->not_entered));
    json_object_set_new(object, "size_bytes", json_u64(total->size_bytes));
    set_counts(object, total->pages, &total->count);
    if (total->interrupted)
        json_object_set_new(object, "interrupted", json_true());
    return object;
}

int cache_print_json(const struct cache_format *format, const struct cache_file *file, size_t n,
                     const struct cache_total *total)
{
    json_t *files = json_array();
    char time[RECORD_TIME];

    for (size_t i = 0; i < n; i++)
        json_array_append_new(files, file_json(format, &file[i]));
    return json_print_line(json_pack("{ss ss so so so}", "schema", "vmwss.guest_cache.v1", "time",
                                     record_time(time), "page_bytes", json_u64(base_page_bytes()),
                                     "files", files, "total", total_json(total)));
}
