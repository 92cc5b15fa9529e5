// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file keep_writer.c  Writes a history as the daemon does, for tests/integration/history/keep.sh
 * and daemon.sh.
 *
 *   keep_writer FILE ask       reads lines "NAME UUID TIME MIB PERIOD NUMBER [AVAILABLE
 *                              [WRITTEN]]" and adds a record for each: windows of 10 and 60 s of
 *                              MIB, 512 MiB resident of 1024; if it has AVAILABLE, and that is not
 *                              nan, the word of an agent that so many MiB are; if it has WRITTEN,
 *                              that a KVM guest writes so many new MiB each second; answers 0, or
 *                              the error's number and text
 *   keep_writer FILE number N  adds records numbered N, N + 1, ... of the time now until it is
 *                              killed, with store_maintain() now and then, and writes each number
 *                              once it is kept
 */
#include "history/store.h"

#include "base/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1ULL << 20)

struct wish {
    char name[256];
    char uuid[40];
    double time_s, mib, period_s;
    unsigned long long number;
    double available_mib; /* NAN: no agent */
    double written_mib_s; /* NAN: not measured */
};

static void tell(struct guest_stats *stats, uint64_t available_bytes)
{
    guest_stats_unavailable(stats, "%s", "");
    stats->source = GUEST_STATS_AGENT;
    stats->total_bytes = 1024 * MIB;
    stats->available_bytes = available_bytes;
    stats->used_bytes = stats->total_bytes - available_bytes;
    stats->verdict = VERDICT_BELOW;
}

/* All that was touched was so within ten seconds. */
static void fill_ages(struct ages_record *record, uint64_t wss_bytes)
{
    const uint64_t resident_bytes = record->sample.resident_bytes;
    const uint64_t rest_bytes = wss_bytes < resident_bytes ? resident_bytes - wss_bytes : 0;

    record->n_bins = 3;
    record->bins[0] = (struct age_bin){0, 10, wss_bytes, wss_bytes, wss_bytes};
    record->bins[1] = (struct age_bin){10, 60, 0, 0, 0};
    record->bins[2] = (struct age_bin){60, HUGE_VAL, rest_bytes, rest_bytes, rest_bytes};
}

static void fill_writes(struct sample_record *sample, double bytes_s)
{
    static const double windows_s[] = {WRITE_WINDOWS_S};
    struct write_curve *writes = &sample->writes;

    sample->accel = ACCEL_KVM;
    *writes = (struct write_curve){.method = "soft-dirty", .granularity_bytes = 4096};
    for (; writes->n < COUNT(windows_s); writes->n++) {
        const double window_s = windows_s[writes->n];
        const uint64_t bytes = (uint64_t)fmin(bytes_s * window_s, (double)sample->resident_bytes);

        writes->points[writes->n] = (struct write_point){window_s, window_s, bytes, bytes, bytes};
    }
}

static void fill(struct ages_record *record, const struct wish *wish)
{
    struct sample_record *sample = &record->sample;
    uint64_t wss_bytes = (uint64_t)(wish->mib * (double)MIB);

    *record = (struct ages_record){.n_bins = 0};
    sample->time.tv_sec = (time_t)wish->time_s;
    gethostname(sample->host, sizeof(sample->host) - 1);
    snprintf(sample->domain, sizeof(sample->domain), "%s", wish->name);
    snprintf(sample->uuid, sizeof(sample->uuid), "%s", wish->uuid);
    sample->pid = 1;
    sample->method = "idle";
    sample->samples = wish->number;
    sample->granularity_bytes = 4096;
    sample->ram_bytes = 1024 * MIB;
    sample->resident_bytes = 512 * MIB;
    sample->unmeasurable_bytes = 2 * MIB;
    sample->n_windows = 2;
    for (size_t w = 0; w < 2; w++)
        sample->windows[w] = (struct window_record){
            .window_s = w == 0 ? 10 : 60,
            .est_window_s = w == 0 ? 10.1 : 60.1,
            .wss_bytes = wss_bytes,
            .wss_low_bytes = wss_bytes / 2,
            .wss_high_bytes = wss_bytes * 2,
            .touched_fraction = wish->mib / 512,
        };
    fill_ages(record, wss_bytes);
    if (!isnan(wish->available_mib))
        tell(&sample->guest, (uint64_t)(wish->available_mib * (double)MIB));
    if (!isnan(wish->written_mib_s))
        fill_writes(sample, wish->written_mib_s * (double)MIB);
}

static int add(struct store *store, const struct wish *wish, struct error *error)
{
    static struct ages_record record;
    const struct store_entry entry = {
        .record = &record, .period_s = wish->period_s, .precision = 0.022};

    fill(&record, wish);
    return store_add(store, &entry, 1, error);
}

static int answer(struct store *store)
{
    struct wish wish;
    char line[512];

    while (fgets(line, sizeof(line), stdin)) {
        struct error error = {0};

        wish.available_mib = wish.written_mib_s = NAN;
        if (sscanf(line, "%255s %39s %lf %lf %lf %llu %lf %lf", wish.name, wish.uuid, &wish.time_s,
                   &wish.mib, &wish.period_s, &wish.number, &wish.available_mib,
                   &wish.written_mib_s) < 6)
            return 1;

        int rc = add(store, &wish, &error);

        printf("%d %s\n", rc, error.text);
        fflush(stdout);
    }
    return 0;
}

static int number(struct store *store, unsigned long long n)
{
    struct wish wish = {.name = "web1",
                        .uuid = "11111111-1111-4111-8111-111111111111",
                        .mib = 64,
                        .period_s = 1,
                        .available_mib = NAN,
                        .written_mib_s = NAN};
    struct store_clock clock = store_clock_now();
    struct error error = {0};

    for (;; n++) {
        wish.number = n;
        wish.time_s = clock.wall_s;
        if (add(store, &wish, &error) < 0 ||
            (n % 16 == 0 && store_maintain(store, &store_retention_default, &clock, &error) < 0)) {
            fprintf(stderr, "%s\n", error.text);
            return 1;
        }
        dprintf(STDOUT_FILENO, "%llu\n", n);
    }
}

int main(int argc, char **argv)
{
    struct store *store;
    struct error error = {0};
    int status = 2;

    if (argc < 3 || store_open(argv[1], &store, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    if (*store_notice(store))
        fprintf(stderr, "%s\n", store_notice(store));
    if (!strcmp(argv[2], "ask"))
        status = answer(store);
    else if (argc == 4 && !strcmp(argv[2], "number"))
        status = number(store, strtoull(argv[3], NULL, 10));
    store_close(store);
    return status;
}
