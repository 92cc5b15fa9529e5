// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report.c  See report.h. */
#include "show/report.h"

#include "base/plural.h"
#include "base/text/csv.h"
#include "base/text/json.h"
#include "base/text/units.h"
#include "base/utf8.h"
#include "show/host_memory.h"
#include "show/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* --- for people ------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
    {.name = "DOMAIN", .cut = true},
    {.name = "ASSIGNED", .right = true, .rank = 2},
    {.name = "RESIDENT", .right = true, .rank = 4},
    {.name = "WSS P50", .right = true, .rank = 5},
    {.name = "WSS P95", .right = true},
    {.name = "P99", .right = true, .rank = 3},
    {.name = "MAX", .right = true, .rank = 7},
    {.name = "OF ASSIGNED", .right = true, .rank = 8},
    {.name = "GIVE BACK", .right = true, .rank = 1},
    {.name = "MEASURED", .right = true, .rank = 9},
    {.name = "LAST", .rank = 6},
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static double share_of(double part, uint64_t whole)
{
    return whole ? part / (double)whole : 0;
}

static int add_cells(struct table *table, char cell[N_COLUMNS][300])
{
    const char *cells[N_COLUMNS];

    for (size_t i = 0; i < N_COLUMNS; i++)
        cells[i] = cell[i];
    return table_row(table, cells);
}

static void add_wss(char cell[N_COLUMNS][300], const struct report_guest *guest)
{
    const size_t size = sizeof(cell[0]);

    show_bytes(cell[3], size, (uint64_t)guest->wss_p50);
    show_bytes(cell[4], size, (uint64_t)guest->wss_p95);
    show_bytes(cell[5], size, (uint64_t)guest->wss_p99);
    show_bytes(cell[6], size, (uint64_t)guest->wss_max);
    snprintf(cell[7], size, "%.1f%%", 100 * share_of(guest->wss_p95, guest->ram_bytes));
    if (!guest->not_measured)
        show_bytes(cell[8], size, guest->reclaimable_bytes);
}

static int add_guest(struct table *table, const struct report_guest *guest)
{
    char cell[N_COLUMNS][300];
    const size_t size = sizeof(cell[0]);

    snprintf(cell[0], size, "%s", guest->guest.name);
    show_bytes(cell[1], size, guest->ram_bytes);
    show_bytes(cell[2], size, guest->resident_bytes);
    for (size_t c = 3; c <= 8; c++)
        snprintf(cell[c], size, "-");
    if (guest->records > 0)
        add_wss(cell, guest);
    show_seconds(cell[9], size, guest->measured_s);
    if (guest->running && guest->not_measured)
        snprintf(cell[10], size, "not measured");
    else if (guest->running)
        snprintf(cell[10], size, "running");
    else
        show_time(cell[10], size, guest->last_s, 0);
    return add_cells(table, cell);
}

static int add_total(struct table *table, const struct report *report)
{
    char cell[N_COLUMNS][300] = {{0}};
    const size_t size = sizeof(cell[0]);

    snprintf(cell[0], size, "all together");
    show_bytes(cell[1], size, report->ram_bytes);
    show_bytes(cell[2], size, report->resident_bytes);
    show_bytes(cell[3], size, (uint64_t)report->total_p50);
    show_bytes(cell[4], size, (uint64_t)report->total_p95);
    show_bytes(cell[5], size, (uint64_t)report->total_p99);
    show_bytes(cell[6], size, (uint64_t)report->total_max);
    snprintf(cell[7], size, "%.1f%%", 100 * share_of(report->total_p95, report->ram_bytes));
    show_bytes(cell[8], size, report->reclaimable_bytes);
    return add_cells(table, cell);
}

/* The sums include assumed needs, so a line below them tells this, however narrow the terminal is.
 */
static void print_assumed(const struct report *report)
{
    char bytes[32];

    if (report->n_assumed > 0)
        printf(
            "%zu guest%s could not be measured at some time: all of the memory that was resident "
            "then, up to %s, counts as needed.\n",
            report->n_assumed, plural((double)report->n_assumed),
            show_bytes(bytes, sizeof(bytes), (uint64_t)report->assumed_bytes));
}

static void print_shortage(const struct report *report)
{
    if (report->short_rough)
        printf("It was short in between %.0f and %.0f of %.0f minutes: of some hours the minutes "
               "themselves are not kept.\n",
               report->short_low_s / 60, report->short_high_s / 60, report->known_s / 60);
    else if (report->short_s > 0)
        printf("It was short in %.0f of %.0f minutes, for up to %.0f at a stretch.\n",
               report->short_s / 60, report->known_s / 60, report->longest_short_s / 60);
}

/* Also warns if the statistics cannot support the risk: a day's data cannot show a risk of one in a
 * thousand. */
static void print_fit(const struct report *report)
{
    const struct report_options *options = &report->options;
    char capacity[32];
    char size[32];
    char needed[32];

    if (!options->capacity_bytes)
        return;
    printf("Of %s all guests together need %s or less for %g%% of the time",
           show_bytes(capacity, sizeof(capacity), options->capacity_bytes),
           show_bytes(needed, sizeof(needed), (uint64_t)report->total_risk),
           100 * (1 - options->risk));
    if (report->shortage > 0)
        printf(", and more than there is for %s%.3g%%", report->short_rough ? "about " : "",
               100 * report->shortage);
    puts(".");
    print_shortage(report);
    if (options->guest_bytes)
        printf("%.0f%s more guest%s of %s like these fit%s at a risk of %g%%.\n", report->fit,
               report->fit >= 10000 ? " or" : "", plural(report->fit),
               show_bytes(size, sizeof(size), options->guest_bytes), report->fit == 1 ? "s" : "",
               100 * options->risk);
    if ((double)report->n_times * options->risk < 1)
        printf("That is from %zu %s%s: too few to know what happens for %g%% of the time.\n",
               report->n_times, report->level_s == BUCKET_HOUR ? "hour" : "minute",
               plural((double)report->n_times), 100 * options->risk);
}

static int print_table(const struct report *report)
{
    struct table *table = table_new(columns, N_COLUMNS);
    char host[256];
    char from[40];
    char to[40];
    char window[32];
    char memory[HOST_MEMORY_TEXT];
    int rc = table ? 0 : -ENOMEM;

    for (size_t g = 0; rc == 0 && g < report->n_guests; g++)
        rc = add_guest(table, &report->guests[g]);
    if (rc == 0)
        rc = add_total(table, report);
    if (rc == 0) {
        printf("%s, %s to %s, window %s, from each %s\n",
               utf8_printable_copy(host, sizeof(host), report->host),
               show_time(from, sizeof(from), report->from_s, 0),
               show_time(to, sizeof(to), report->to_s, 0),
               show_seconds(window, sizeof(window), report->options.window_s),
               report->level_s == BUCKET_HOUR ? "hour" : "minute");
        if (isatty(STDOUT_FILENO) && *host_memory_of(memory, report->host, report->ram_bytes))
            printf("host now: %s\n", memory);
        table_print(table, true);
        print_assumed(report);
        if (report_gap_share(report) > 0.005)
            printf("For %.1f%% of that time there is no record: it is in none of these figures.\n",
                   100 * report_gap_share(report));
        print_fit(report);
    }
    table_free(table);
    return rc;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void set_bytes(json_t *object, const char *key, double bytes)
{
    json_object_set_new(object, key, json_integer((json_int_t)bytes));
}

static void set_time(json_t *object, const char *key, double unix_s)
{
    char text[40];

    json_object_set_new(object, key, json_string(show_time(text, sizeof(text), unix_s, 0)));
}

/* Sets null if the guest was not measured in that time. */
static void set_wss(json_t *object, const struct report_guest *guest)
{
    const struct {
        const char *key;
        double bytes;
    } all[] = {{"wss_p50_bytes", guest->wss_p50},
               {"wss_p95_bytes", guest->wss_p95},
               {"wss_p99_bytes", guest->wss_p99},
               {"wss_max_bytes", guest->wss_max},
               {"wss_risk_bytes", guest->wss_risk}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (guest->records > 0)
            set_bytes(object, all[i].key, all[i].bytes);
        else
            json_object_set_new(object, all[i].key, json_null());
}

static json_t *guest_json(const struct report_guest *guest)
{
    json_t *object = json_object();

    json_object_set_new(object, "domain", json_text(guest->guest.name));
    json_object_set_new(object, "uuid", json_text(guest->guest.uuid));
    json_object_set_new(object, "running", json_boolean(guest->running));
    json_object_set_new(object, "measured", json_boolean(!guest->not_measured));
    set_time(object, "last", guest->last_s);
    set_bytes(object, "records", (double)guest->records);
    json_object_set_new(object, "measured_seconds", json_real(guest->measured_s));
    set_bytes(object, "ram_bytes", (double)guest->ram_bytes);
    set_bytes(object, "resident_bytes", (double)guest->resident_bytes);
    set_bytes(object, "unmeasurable_bytes", (double)guest->unmeasurable_bytes);
    set_wss(object, guest);
    set_bytes(object, "reclaimable_bytes", (double)guest->reclaimable_bytes);
    return object;
}

static void set_real(json_t *object, const char *key, bool known, double value)
{
    json_object_set_new(object, key, known ? json_real(value) : json_null());
}

static json_t *total_json(const struct report *report)
{
    json_t *object = json_object();
    const bool capacity = report->options.capacity_bytes > 0;
    const bool exact = capacity && !report->short_rough;

    set_bytes(object, "ram_bytes", (double)report->ram_bytes);
    set_bytes(object, "resident_bytes", (double)report->resident_bytes);
    set_bytes(object, "reclaimable_bytes", (double)report->reclaimable_bytes);
    set_bytes(object, "wss_p50_bytes", report->total_p50);
    set_bytes(object, "wss_p95_bytes", report->total_p95);
    set_bytes(object, "wss_p99_bytes", report->total_p99);
    set_bytes(object, "wss_max_bytes", report->total_max);
    set_bytes(object, "wss_risk_bytes", report->total_risk);
    json_object_set_new(object, "capacity_bytes",
                        capacity ? json_integer((json_int_t)report->options.capacity_bytes)
                                 : json_null());
    set_real(object, "shortage", exact, report->shortage);
    set_real(object, "short_seconds", exact, report->short_s);
    set_real(object, "short_seconds_low", capacity, report->short_low_s);
    set_real(object, "short_seconds_high", capacity, report->short_high_s);
    set_real(object, "longest_short_seconds", exact, report->longest_short_s);
    set_bytes(object, "not_measured_guests", (double)report->n_assumed);
    set_bytes(object, "not_measured_bytes", report->assumed_bytes);
    return object;
}

static json_t *fit_json(const struct report *report)
{
    json_t *object;

    if (!report->options.capacity_bytes || !report->options.guest_bytes)
        return json_null();
    object = json_object();
    set_bytes(object, "guest_bytes", (double)report->options.guest_bytes);
    set_bytes(object, "guests", report->fit);
    return object;
}

static int print_json(const struct report *report)
{
    json_t *object = json_object();
    json_t *guests = json_array();

    for (size_t g = 0; g < report->n_guests; g++)
        json_array_append_new(guests, guest_json(&report->guests[g]));
    json_object_set_new(object, "schema", json_string("vmwss.report.v1"));
    json_object_set_new(object, "host", json_text(report->host));
    set_time(object, "from", report->from_s);
    set_time(object, "to", report->to_s);
    json_object_set_new(object, "level",
                        json_string(report->level_s == BUCKET_HOUR ? "hour" : "minute"));
    set_bytes(object, "times", (double)report->n_times);
    json_object_set_new(object, "gap_share", json_real(report_gap_share(report)));
    json_object_set_new(object, "window_s", json_real(report->options.window_s));
    json_object_set_new(object, "risk", json_real(report->options.risk));
    json_object_set_new(object, "guests", guests);
    json_object_set_new(object, "total", total_json(report));
    json_object_set_new(object, "fit", fit_json(report));
    return json_print_line(object);
}

/* --- CSV -------------------------------------------------------------------------------------- */

static const char *const csv_names[] = {
    "scope",
    "host",
    "domain",
    "uuid",
    "from",
    "to",
    "window_s",
    "risk",
    "running",
    "records",
    "measured_seconds",
    "ram_bytes",
    "resident_bytes",
    "unmeasurable_bytes",
    "wss_p50_bytes",
    "wss_p95_bytes",
    "wss_p99_bytes",
    "wss_max_bytes",
    "wss_risk_bytes",
    "reclaimable_bytes",
    "capacity_bytes",
    "shortage",
    "guest_bytes",
    "fit",
    "short_seconds",
    "longest_short_seconds",
    "short_seconds_low",
    "short_seconds_high",
    "not_measured_guests",
    "not_measured_bytes",
    NULL,
};

static void csv_span(struct csv *csv, const struct report *report)
{
    char time[40];

    csv_text(csv, show_time(time, sizeof(time), report->from_s, 0));
    csv_text(csv, show_time(time, sizeof(time), report->to_s, 0));
    csv_number(csv, report->options.window_s);
    csv_number(csv, report->options.risk);
}

static void csv_nothings(struct csv *csv, int n)
{
    while (n-- > 0)
        csv_nothing(csv);
}

static void csv_guest(const struct report *report, const struct report_guest *guest)
{
    struct csv csv = {0};

    csv_text(&csv, "guest");
    csv_text(&csv, report->host);
    csv_text(&csv, guest->guest.name);
    csv_text(&csv, guest->guest.uuid);
    csv_span(&csv, report);
    csv_whole(&csv, guest->running);
    csv_whole(&csv, guest->records);
    csv_number(&csv, guest->measured_s);
    csv_whole(&csv, guest->ram_bytes);
    csv_whole(&csv, guest->resident_bytes);
    csv_whole(&csv, guest->unmeasurable_bytes);
    if (guest->records > 0) {
        csv_whole(&csv, (uint64_t)guest->wss_p50);
        csv_whole(&csv, (uint64_t)guest->wss_p95);
        csv_whole(&csv, (uint64_t)guest->wss_p99);
        csv_whole(&csv, (uint64_t)guest->wss_max);
        csv_whole(&csv, (uint64_t)guest->wss_risk);
    } else {
        csv_nothings(&csv, 5);
    }
    csv_whole(&csv, guest->reclaimable_bytes);
    csv_nothings(&csv, 10);
    csv_end(&csv);
}

static void csv_known(struct csv *csv, bool known, double value)
{
    if (known)
        csv_number(csv, value);
    else
        csv_nothing(csv);
}

static void csv_host(const struct report *report)
{
    const struct report_options *options = &report->options;
    const bool exact = options->capacity_bytes > 0 && !report->short_rough;
    struct csv csv = {0};

    csv_text(&csv, "host");
    csv_text(&csv, report->host);
    csv_nothings(&csv, 2);
    csv_span(&csv, report);
    csv_nothings(&csv, 3);
    csv_whole(&csv, report->ram_bytes);
    csv_whole(&csv, report->resident_bytes);
    csv_nothing(&csv);
    csv_whole(&csv, (uint64_t)report->total_p50);
    csv_whole(&csv, (uint64_t)report->total_p95);
    csv_whole(&csv, (uint64_t)report->total_p99);
    csv_whole(&csv, (uint64_t)report->total_max);
    csv_whole(&csv, (uint64_t)report->total_risk);
    csv_whole(&csv, report->reclaimable_bytes);
    if (options->capacity_bytes) {
        csv_whole(&csv, options->capacity_bytes);
        csv_known(&csv, exact, report->shortage);
    } else {
        csv_nothings(&csv, 2);
    }
    if (options->capacity_bytes && options->guest_bytes) {
        csv_whole(&csv, options->guest_bytes);
        csv_whole(&csv, (uint64_t)report->fit);
    } else {
        csv_nothings(&csv, 2);
    }
    csv_known(&csv, exact, report->short_s);
    csv_known(&csv, exact, report->longest_short_s);
    csv_known(&csv, options->capacity_bytes > 0, report->short_low_s);
    csv_known(&csv, options->capacity_bytes > 0, report->short_high_s);
    csv_whole(&csv, report->n_assumed);
    csv_whole(&csv, (uint64_t)report->assumed_bytes);
    csv_end(&csv);
}

int report_print(const struct report *report, enum show_format format)
{
    if (format == SHOW_JSON)
        return print_json(report);
    if (format == SHOW_TABLE)
        return print_table(report);
    csv_heading(csv_names);
    for (size_t g = 0; g < report->n_guests; g++)
        csv_guest(report, &report->guests[g]);
    csv_host(report);
    return 0;
}
