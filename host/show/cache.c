// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/cache.h"

#include "base/text/units.h"
#include "base/utf8.h"
#include "show/note.h"

#include <stdio.h>

static const char *level_name(enum counted_level level)
{
    return level == COUNTED_LLC ? "llc" : level == COUNTED_L2 ? "l2" : "unknown";
}

/* Returns false if nothing was counted because other users held the counters: zeros are then not
 * counts. */
static bool has_counts(const struct cache_counts *counts)
{
    return counts->known && counts->counted_share > 0;
}

/* --- the guest -------------------------------------------------------------------------------- */

static const struct sheet_column guest_columns[] = {
    {"domain", {.name = "DOMAIN", .cut = true}},
    {"est_window_s", {.name = "WINDOW", .right = true, .rank = 6}},
    {"ran_of_all", {.name = "VCPUS", .right = true, .rank = 5}},
    {"vcpu_seconds", {.name = "RAN", .right = true, .rank = 4}},
    {"counts_references", {.name = "REFERENCES", .right = true, .rank = 2}},
    {"counts_misses", {.name = "MISSES", .right = true, .rank = 1}},
    {"counts_missed", {.name = "MISSED", .right = true}},
    {"counts_ipc", {.name = "IPC", .right = true, .rank = 3}},
    {"flags", {.name = "FLAGS", .last = true}},
};

static void fill_guest(struct sheet *sheet, const struct cache_report *report)
{
    sheet_time(sheet, "time", report->result->unix_s, 3);
    sheet_guest(sheet, report->host, report->domain, report->uuid);
    sheet_count(sheet, "pid", (uint64_t)report->pid);
    if (!*report->domain)
        sheet_cell(sheet, "domain", "pid %d", (int)report->pid);
}

static void fill_counts(struct sheet *sheet, const struct cache_counts *counts)
{
    if (!has_counts(counts)) {
        sheet_unknown(sheet, "counts");
        return;
    }
    sheet_group(sheet, "counts");
    sheet_text(sheet, "level", level_name(counts->level));
    sheet_count(sheet, "references", counts->references);
    sheet_count(sheet, "misses", counts->misses);
    sheet_count(sheet, "instructions", counts->instructions);
    sheet_count(sheet, "cycles", counts->cycles);
    sheet_real(sheet, "counted_share", sheet_rounded(counts->counted_share, 1e-4));
    sheet_cell(sheet, "missed", counts->references ? "%.1f%%" : "-",
               100 * (double)counts->misses / (double)counts->references);
    sheet_cell(sheet, "ipc", counts->cycles ? "%.2f" : "-",
               (double)counts->instructions / (double)counts->cycles);
    sheet_close(sheet);
}

/* --- the caches ------------------------------------------------------------------------------- */

static const struct sheet_column cache_columns[] = {
    {"id", {.name = "CACHE", .right = true}},
    {"size_bytes", {.name = "SIZE", .right = true}},
    {"usable_bytes", {.name = "USABLE", .right = true}},
    {"occupied_bytes", {.name = "OCCUPIED", .right = true}},
    {"loaded_bytes", {.name = "LOADED", .right = true}},
    {"bandwidth", {.name = "BANDWIDTH", .right = true}},
};

static void cell_bandwidth(struct sheet *sheet, uint64_t loaded_bytes, double seconds)
{
    if (loaded_bytes == CACHE_UNKNOWN || !(seconds > 0))
        sheet_cell(sheet, "bandwidth", "-");
    else
        sheet_cell(sheet, "bandwidth", "%s/s",
                   BYTES_TEXT((uint64_t)((double)loaded_bytes / seconds)));
}

static void fill_use(struct sheet *sheet, const struct cache_use *use, double seconds)
{
    sheet_row(sheet);
    sheet_count(sheet, "id", use->id);
    sheet_bytes(sheet, "size_bytes", use->bytes);
    sheet_bytes(sheet, "usable_bytes", use->usable_bytes);
    sheet_bytes(sheet, "leftover_bytes", use->leftover_bytes);
    sheet_bytes(sheet, "occupied_bytes", use->occupied_bytes);
    sheet_bytes(sheet, "loaded_bytes", use->loaded_bytes);
    sheet_bytes(sheet, "loaded_local_bytes", use->local_bytes);
    sheet_bytes(sheet, "loaded_while_full_bytes", use->loaded_while_full_bytes);
    cell_bandwidth(sheet, use->loaded_bytes, seconds);
}

/* If there are many caches, a table shows only those that the guest used. */
static void fill_caches(struct sheet *sheet, const struct cache_seen *seen)
{
    const bool all = sheet->format != SHOW_TABLE || seen->n_caches == 1;

    sheet_list(sheet, "caches", cache_columns, COUNT(cache_columns));
    for (size_t i = 0; i < seen->n_caches; i++)
        if (all || seen->caches[i].occupied_bytes || seen->caches[i].loaded_bytes)
            fill_use(sheet, &seen->caches[i], seen->est_window_s);
    sheet_close(sheet);
}

/* --- together --------------------------------------------------------------------------------- */

static void fill_seen(struct sheet *sheet, const struct cache_seen *seen)
{
    sheet_real(sheet, "window_s", seen->window_s);
    sheet_seconds(sheet, "est_window_s", sheet_rounded(seen->est_window_s, 1e-3));
    sheet_count(sheet, "vcpus", seen->n_vcpus);
    sheet_count(sheet, "vcpus_ran", seen->n_ran);
    sheet_cell(sheet, "ran_of_all", "%zu/%zu", seen->n_ran, seen->n_vcpus);
    sheet_seconds(sheet, "vcpu_seconds", sheet_rounded(seen->ran_s, 1e-6));
    sheet_real(sheet, "guest_share", sheet_rounded(seen->guest_share, 1e-4));
    sheet_count(sheet, "migrations", seen->migrations);
    fill_counts(sheet, &seen->counts);
    if (sheet->format == SHOW_JSON)
        fill_caches(sheet, seen);
}

static void fill_result(struct sheet *sheet, const struct cache_result *result)
{
    sheet_text(sheet, "not_counted", result->no_counters.text);
    sheet_text(sheet, "not_monitored", result->no_monitor.text);
    sheet_text(sheet, "answer", cache_answer_name(result->verdict.answer));
    sheet_text(sheet, "reason", result->verdict.reason);
    sheet_bits(sheet, "flags", result->seen.flags, cache_flag_name);
}

/* The reason may contain names of groups, which are chosen by other programs. */
static void print_reason(const char *what, const struct error *error)
{
    char text[sizeof(error->text)];

    if (error->code)
        note("%s: %s\n", what, utf8_printable_copy(text, sizeof(text), error->text));
}

int cache_print(const struct cache_report *report, enum show_format format)
{
    const struct cache_result *result = report->result;
    struct sheet sheet;

    sheet_begin(&sheet, format, "vmwss.cache.v1", NULL);
    sheet_list(&sheet, NULL, guest_columns, COUNT(guest_columns));
    sheet_row(&sheet);
    fill_guest(&sheet, report);
    fill_seen(&sheet, &result->seen);
    fill_result(&sheet, result);
    sheet_real(&sheet, "cpu_seconds", sheet_rounded(report->cpu_s, 1e-6));
    sheet_close(&sheet);
    if (format == SHOW_TABLE) {
        if (result->seen.monitored)
            fill_caches(&sheet, &result->seen);
        note("%s: %s\n", cache_answer_name(result->verdict.answer), result->verdict.reason);
        print_reason("not counted", &result->no_counters);
        print_reason("not monitored", &result->no_monitor);
    }
    return sheet_end(&sheet);
}
