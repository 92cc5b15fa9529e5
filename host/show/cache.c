// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache.c  See cache.h. */
#include "show/cache.h"

#include "base/text/json.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *level_name(enum counted_level level)
{
    return level == COUNTED_LLC ? "llc" : level == COUNTED_L2 ? "l2" : "unknown";
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

/* Returns false if nothing was counted, because others held the counters: then zeros are not
 * counts. */
static bool has_counts(const struct cache_counts *counts)
{
    return counts->known && counts->counted_share > 0;
}

/* --- people ----------------------------------------------------------------------------------- */

static const char *flags_text(char *text, size_t size, unsigned flags)
{
    size_t used = 0;

    *text = '\0';
    for (unsigned f = 0; f < CACHE_FLAGS; f++)
        if (flags >> f & 1 && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "",
                                     cache_flag_name(f));
    return text;
}

static const char *count_text(char *text, size_t size, const struct cache_counts *counts,
                              uint64_t count)
{
    snprintf(text, size, has_counts(counts) ? "%" PRIu64 : "-", count);
    return text;
}

static const char *ratio_text(char *text, size_t size, const struct cache_counts *counts,
                              double value, bool percent)
{
    if (!has_counts(counts) || !isfinite(value))
        return "-";
    snprintf(text, size, percent ? "%.1f%%" : "%.2f", percent ? value * 100 : value);
    return text;
}

static const char *bytes_text(char *text, size_t size, uint64_t bytes)
{
    return bytes == CACHE_UNKNOWN ? "-" : show_bytes(text, size, bytes);
}

static int print_guest(const struct cache_report *report)
{
    static const struct table_column columns[] = {
        {.name = "DOMAIN", .cut = true},
        {.name = "WINDOW", .right = true, .rank = 6},
        {.name = "VCPUS", .right = true, .rank = 5},
        {.name = "RAN", .right = true, .rank = 4},
        {.name = "REFERENCES", .right = true, .rank = 2},
        {.name = "MISSES", .right = true, .rank = 1},
        {.name = "MISSED", .right = true},
        {.name = "IPC", .right = true, .rank = 3},
        {.name = "FLAGS", .last = true},
    };
    const struct cache_seen *seen = &report->result->seen;
    const struct cache_counts *counts = &seen->counts;
    char window[32], vcpus[48], ran[32], references[32], misses[32], missed[16], ipc[16],
        flags[320];
    struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    char name[32];

    if (!table)
        return -ENOMEM;
    snprintf(name, sizeof(name), "pid %d", (int)report->pid);
    snprintf(vcpus, sizeof(vcpus), "%zu/%zu", seen->n_ran, seen->n_vcpus);

    int rc = table_row(table,
                       (const char *const[]){
                           *report->domain ? report->domain : name,
                           show_seconds(window, sizeof(window), seen->est_window_s),
                           vcpus,
                           show_seconds(ran, sizeof(ran), seen->ran_s),
                           count_text(references, sizeof(references), counts, counts->references),
                           count_text(misses, sizeof(misses), counts, counts->misses),
                           ratio_text(missed, sizeof(missed), counts,
                                      ratio(counts->misses, counts->references), true),
                           ratio_text(ipc, sizeof(ipc), counts,
                                      ratio(counts->instructions, counts->cycles), false),
                           flags_text(flags, sizeof(flags), seen->flags),
                       });

    if (rc == 0)
        table_print(table, true);
    table_free(table);
    return rc;
}

static int print_use(struct table *table, const struct cache_use *use, double seconds)
{
    char id[16], size[32], usable[32], occupied[32], loaded[32], rate[40];

    snprintf(id, sizeof(id), "%u", use->id);
    if (use->loaded_bytes == CACHE_UNKNOWN || !(seconds > 0))
        snprintf(rate, sizeof(rate), "-");
    else {
        show_bytes(rate, sizeof(rate), (uint64_t)((double)use->loaded_bytes / seconds));
        strcat(rate, "/s");
    }
    return table_row(
        table, (const char *const[]){id, bytes_text(size, sizeof(size), use->bytes),
                                     bytes_text(usable, sizeof(usable), use->usable_bytes),
                                     bytes_text(occupied, sizeof(occupied), use->occupied_bytes),
                                     bytes_text(loaded, sizeof(loaded), use->loaded_bytes), rate});
}

/* Leaves out caches, if there are many, that the guest did not affect. */
static int print_caches(const struct cache_seen *seen)
{
    static const struct table_column columns[] = {
        {.name = "CACHE", .right = true},  {.name = "SIZE", .right = true},
        {.name = "USABLE", .right = true}, {.name = "OCCUPIED", .right = true},
        {.name = "LOADED", .right = true}, {.name = "BANDWIDTH", .right = true},
    };
    struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    int rc = table ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < seen->n_caches; i++)
        if (seen->n_caches == 1 || seen->caches[i].occupied_bytes || seen->caches[i].loaded_bytes)
            rc = print_use(table, &seen->caches[i], seen->est_window_s);
    if (rc == 0)
        table_print(table, true);
    table_free(table);
    return rc;
}

/* The reason may contain names of groups, which others chose. */
static void print_reason(const char *what, const struct error *error)
{
    char text[sizeof(error->text)];

    if (error->code)
        printf("%s: %s\n", what, utf8_printable_copy(text, sizeof(text), error->text));
}

int cache_print(const struct cache_report *report)
{
    const struct cache_result *result = report->result;
    int rc = print_guest(report);

    if (rc == 0 && result->seen.monitored)
        rc = print_caches(&result->seen);
    if (rc < 0)
        return rc;
    printf("%s: %s\n", cache_answer_name(result->verdict.answer), result->verdict.reason);
    print_reason("not counted", &result->no_counters);
    print_reason("not monitored", &result->no_monitor);
    return 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *known_bytes(uint64_t bytes)
{
    return bytes > INT64_MAX ? json_null() : json_u64(bytes);
}

static json_t *known_real(double value, double digits)
{
    return isfinite(value) ? json_real(round(value * digits) / digits) : json_null();
}

static json_t *counts_json(const struct cache_counts *counts)
{
    json_t *object;

    if (!has_counts(counts))
        return json_null();
    object = json_object();
    json_object_set_new(object, "level", json_string(level_name(counts->level)));
    json_object_set_new(object, "references", json_u64(counts->references));
    json_object_set_new(object, "misses", json_u64(counts->misses));
    json_object_set_new(object, "instructions", json_u64(counts->instructions));
    json_object_set_new(object, "cycles", json_u64(counts->cycles));
    json_object_set_new(object, "counted_share", known_real(counts->counted_share, 1e4));
    return object;
}

static json_t *use_json(const struct cache_use *use)
{
    json_t *object = json_object();

    json_object_set_new(object, "id", json_u64(use->id));
    json_object_set_new(object, "size_bytes", known_bytes(use->bytes));
    json_object_set_new(object, "usable_bytes", known_bytes(use->usable_bytes));
    json_object_set_new(object, "leftover_bytes", known_bytes(use->leftover_bytes));
    json_object_set_new(object, "occupied_bytes", known_bytes(use->occupied_bytes));
    json_object_set_new(object, "loaded_bytes", known_bytes(use->loaded_bytes));
    json_object_set_new(object, "loaded_local_bytes", known_bytes(use->local_bytes));
    json_object_set_new(object, "loaded_while_full_bytes",
                        known_bytes(use->loaded_while_full_bytes));
    return object;
}

static json_t *flags_json(unsigned flags)
{
    json_t *array = json_array();

    for (unsigned f = 0; f < CACHE_FLAGS; f++)
        if (flags >> f & 1)
            json_array_append_new(array, json_string(cache_flag_name(f)));
    return array;
}

static json_t *caches_json(const struct cache_seen *seen)
{
    json_t *array = json_array();

    for (size_t i = 0; i < seen->n_caches; i++)
        json_array_append_new(array, use_json(&seen->caches[i]));
    return array;
}

static void add_seen(json_t *object, const struct cache_seen *seen)
{
    json_object_set_new(object, "window_s", json_real(seen->window_s));
    json_object_set_new(object, "est_window_s", known_real(seen->est_window_s, 1000));
    json_object_set_new(object, "vcpus", json_u64(seen->n_vcpus));
    json_object_set_new(object, "vcpus_ran", json_u64(seen->n_ran));
    json_object_set_new(object, "vcpu_seconds", known_real(seen->ran_s, 1e6));
    json_object_set_new(object, "guest_share", known_real(seen->guest_share, 1e4));
    json_object_set_new(object, "migrations", json_u64(seen->migrations));
    json_object_set_new(object, "counts", counts_json(&seen->counts));
    json_object_set_new(object, "caches", caches_json(seen));
}

int cache_json_print(const struct cache_report *report)
{
    const struct cache_result *result = report->result;
    json_t *object = json_object();
    char time[40];

    json_object_set_new(object, "schema", json_string("vmwss.cache.v1"));
    json_object_set_new(object, "time",
                        json_string(show_time(time, sizeof(time), result->unix_s, 3)));
    json_object_set_new(object, "host", json_text(report->host));
    json_object_set_new(object, "domain", json_text(report->domain));
    json_object_set_new(object, "uuid", json_text(report->uuid));
    json_object_set_new(object, "pid", json_integer(report->pid));
    add_seen(object, &result->seen);
    json_object_set_new(object, "not_counted", json_text(result->no_counters.text));
    json_object_set_new(object, "not_monitored", json_text(result->no_monitor.text));
    json_object_set_new(object, "answer", json_string(cache_answer_name(result->verdict.answer)));
    json_object_set_new(object, "reason", json_string(result->verdict.reason));
    json_object_set_new(object, "flags", flags_json(result->seen.flags));
    json_object_set_new(object, "cpu_seconds", known_real(report->cpu_s, 1e6));
    return json_print_line(object);
}
