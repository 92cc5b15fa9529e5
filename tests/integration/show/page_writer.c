// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file page_writer.c  Writes the history of a host with many guests of all kinds, for
 * report_page.sh and dashboards.sh.
 *
 *   page_writer FILE GUESTS DAYS STEP [follow]   a record of each guest every STEP seconds of the
 *                                                DAYS before now; then, if it is to follow, one
 *                                                every second until it is killed
 *
 * All have a daily rhythm. By the last digit of its number a guest 0: has an agent, writes, and
 * stalls in the evening; 1: has a hostile name; 2: was not measured for the second quarter of the
 * time, and stood still then; 3: is migrated and partly unmeasurable in the third; 4: has a balloon
 * that took a third of it after half of the time; 5: has huge pages; 6: cannot be measured; 7:
 * ended after three quarters of the time; 8: began after half of it; 9: idles.
 */
#include "hostile_names.h"

#include "base/array.h"

#include "history/event.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1ULL << 20)
#define DAY_S 86400.0
#define MAX_GUESTS 1000

struct writing {
    struct store *store;
    unsigned guests;
    double begin_s, end_s;
};

static const double windows_s[] = {10, 60, 600, 3600};

static void name_of(char *name, size_t size, unsigned g)
{
    if (g % 10 == 1)
        snprintf(name, size, "%s", hostile_name(g / 10));
    else
        snprintf(name, size, "instance-%08x", g);
}

/* 0 .. 1: where in the whole time it is. */
static double part_of(const struct writing *writing, double time_s)
{
    return (time_s - writing->begin_s) / (writing->end_s - writing->begin_s);
}

static bool has_record(unsigned kind, double part)
{
    return !((kind == 2 && part >= 0.25 && part < 0.5) || (kind == 7 && part >= 0.75) ||
             (kind == 8 && part < 0.5));
}

/* Share of what is resident that is touched within an hour; high in the afternoon. */
static double load_of(unsigned g, double time_s)
{
    double phase = 2 * M_PI * (time_s / DAY_S + 0.03 * (g % 7));
    double noise = 0.02 * sin(time_s / 977 + g) + 0.02 * sin(time_s / 313 + 3 * g);

    if (g % 10 == 9)
        return 0.03 + noise / 4;
    return 0.4 - 0.25 * cos(phase) + noise + 0.01 * (g % 13);
}

static unsigned flags_of(unsigned kind, double part)
{
    if (kind == 0)
        return FLAG_NUMA_BALANCING;
    if (kind == 5)
        return FLAG_THP;
    if (kind == 6)
        return FLAG_NOT_MEASURED;
    if (kind == 3 && part >= 0.5 && part < 0.75)
        return FLAG_PARTIAL | (part < 0.55 ? FLAG_MIGRATING : 0);
    return kind == 8 && part < 0.52 ? FLAG_YOUNG_PANEL : 0;
}

/* Fills in the report of an agent or of a balloon's driver; in the evening it is short. */
static void report(struct guest_stats *stats, uint64_t total_bytes, double load, unsigned kind)
{
    const bool is_short = load > 0.6;

    guest_stats_unavailable(stats, "%s", "");
    stats->source = kind == 0 ? GUEST_STATS_AGENT : GUEST_STATS_BALLOON;
    stats->total_bytes = total_bytes;
    stats->used_bytes = (uint64_t)(0.9 * fmin(load + 0.15, 1) * (double)total_bytes);
    stats->available_bytes = total_bytes - stats->used_bytes;
    stats->swap_in_bytes_s = is_short ? 4096 * 30 : 0;
    stats->swap_out_bytes_s = is_short ? 4096 * 50 : 0;
    stats->verdict = is_short ? VERDICT_ABOVE : VERDICT_BELOW;
    stats->consistency = 1;
    if (kind != 0)
        return;
    stats->cache_warm_bytes = total_bytes / 8;
    stats->cache_cold_bytes = total_bytes / 16;
    stats->interval_s = 10;
    stats->psi_some = is_short ? 0.12 : 0.001;
    stats->psi_full = is_short ? 0.04 : 0;
    stats->refault_bytes_s = is_short ? 3e6 : 2e4;
}

static void fill_windows(struct sample_record *sample, double load)
{
    static const double shares[COUNT(windows_s)] = {0.4, 0.6, 0.8, 1};
    const double resident = (double)sample->resident_bytes;

    sample->n_windows = COUNT(windows_s);
    for (size_t w = 0; w < COUNT(windows_s); w++) {
        double touched = load * shares[w];
        double error = 1.96 * sqrt(touched * (1 - touched) / 2000) + 0.002;

        sample->windows[w] = (struct window_record){
            .window_s = windows_s[w],
            .est_window_s = windows_s[w] + 0.5,
            .wss_bytes = (uint64_t)(touched * resident),
            .wss_low_bytes = (uint64_t)(fmax(touched - error, 0) * resident),
            .wss_high_bytes = (uint64_t)(fmin(touched + error, 1) * resident) +
                              sample->unmeasurable_bytes,
            .touched_fraction = touched,
        };
    }
}

static void fill(const struct writing *writing, struct ages_record *record, unsigned g,
                 double time_s)
{
    struct sample_record *sample = &record->sample;
    const unsigned kind = g % 10;
    const double part = part_of(writing, time_s);
    const double load = load_of(g, time_s);
    const bool deflated = kind == 4 && part >= 0.5;

    memset(sample, 0, sizeof(*sample));
    record->n_bins = 0;
    sample->time.tv_sec = (time_t)time_s;
    gethostname(sample->host, sizeof(sample->host) - 1);
    name_of(sample->domain, sizeof(sample->domain), g);
    snprintf(sample->uuid, sizeof(sample->uuid), "%08x-1111-4111-8111-111111111111", g);
    sample->pid = 1;
    sample->accel = ACCEL_KVM;
    sample->flags = flags_of(kind, part);
    sample->method = kind == 6 ? SAMPLE_NO_METHOD : "idle";
    sample->samples = 2000;
    sample->granularity_bytes = kind == 5 ? 2 * MIB : 4096;
    sample->ram_bytes = (2ULL << (g % 4)) * 1024 * MIB;
    sample->resident_bytes = (uint64_t)((deflated ? 0.6 : 0.9) * (double)sample->ram_bytes);
    sample->unmeasurable_bytes = sample->flags & FLAG_PARTIAL ? sample->resident_bytes / 20 : 0;
    sample->cpu_s = 0.002;
    if (kind == 0)
        sample->writes = (struct write_curve){
            .method = "soft-dirty",
            .granularity_bytes = 4096,
            .n = 2,
            .points = {{1, 1, 16 * MIB, 16 * MIB, 16 * MIB},
                       {10, 10, 64 * MIB, 60 * MIB, 70 * MIB}},
        };
    if (kind == 0 || kind == 4)
        report(&sample->guest, deflated ? sample->ram_bytes / 3 * 2 : sample->ram_bytes, load,
               kind);
    if (kind != 6)
        fill_windows(sample, load);
}

/* One record of each guest that has one then, together. */
static int add(const struct writing *writing, double time_s, double period_s, struct error *error)
{
    static struct ages_record records[MAX_GUESTS];
    static struct store_entry entries[MAX_GUESTS];
    size_t n = 0;

    for (unsigned g = 0; g < writing->guests; g++) {
        if (!has_record(g % 10, part_of(writing, time_s)))
            continue;
        fill(writing, &records[n], g, time_s);
        entries[n] = (struct store_entry){
            .record = &records[n], .period_s = period_s, .precision = 0.022};
        n++;
    }
    return store_add(writing->store, entries, n, error);
}

static int add_event(const struct writing *writing, unsigned g, enum event_kind kind, double part,
                     struct error *error)
{
    struct store_event event = {
        .kind = kind, .time_s = writing->begin_s + part * (writing->end_s - writing->begin_s)};

    gethostname(event.host, sizeof(event.host) - 1);
    snprintf(event.uuid, sizeof(event.uuid), "%08x-1111-4111-8111-111111111111", g);
    return store_add_event(writing->store, &event, error);
}

static int add_events(const struct writing *writing, struct error *error)
{
    int rc = 0;

    for (unsigned g = 0; rc == 0 && g < writing->guests; g++) {
        if (g % 10 == 2) {
            rc = add_event(writing, g, EVENT_SUSPEND, 0.25, error);
            rc = rc < 0 ? rc : add_event(writing, g, EVENT_RESUME, 0.5, error);
        } else if (g % 10 == 7) {
            rc = add_event(writing, g, EVENT_END, 0.75, error);
        } else if (g % 10 == 8) {
            rc = add_event(writing, g, EVENT_START, 0.5, error);
        }
    }
    return rc;
}

static int write_all(const struct writing *writing, double step_s, bool follow, struct error *error)
{
    int rc = 0;

    for (double time_s = writing->begin_s; rc == 0 && time_s <= writing->end_s; time_s += step_s)
        rc = add(writing, time_s, step_s, error);
    if (rc == 0)
        rc = add_events(writing, error);
    puts("written");
    fflush(stdout);
    while (rc == 0 && follow) {
        sleep(1);
        rc = add(writing, store_clock_now().wall_s, 1, error);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct writing writing = {.end_s = floor(store_clock_now().wall_s)};
    struct error error = {0};
    int rc;

    if (argc < 5)
        return 1;
    writing.guests = (unsigned)fmin(strtod(argv[2], NULL), MAX_GUESTS);
    writing.begin_s = writing.end_s - strtod(argv[3], NULL) * DAY_S;
    rc = store_open(argv[1], &writing.store, &error);
    if (rc == 0) {
        rc = write_all(&writing, strtod(argv[4], NULL), argc > 5, &error);
        store_close(writing.store);
    }
    if (rc < 0)
        fprintf(stderr, "%s\n", error.text);
    return rc < 0;
}
