// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file plan_history.c  Writes the history of one host with generated guests, as vmwssd does that
 * measures each of them once a minute with four windows; for tests/bench/plan.
 *
 *   plan_history FILE HOST GUESTS DAYS FAMILY   up to now; FAMILY: of plan_fleets.h, by number
 */
#include "history/store.h"
#include "plan_fleets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_GUESTS 1000
#define N_WINDOWS 4
static const double windows_s[N_WINDOWS] = {10, 60, 600, 3600};
static const double shares[N_WINDOWS] = {0.8, 1, 1.1, 1.2};

static void fill(struct ages_record *record, const char *host, size_t g, double ram, double need)
{
    struct sample_record *sample = &record->sample;

    *record = (struct ages_record){.n_bins = 0};
    snprintf(sample->host, sizeof(sample->host), "%s", host);
    snprintf(sample->domain, sizeof(sample->domain), "instance-%08zx", g);
    snprintf(sample->uuid, sizeof(sample->uuid), "%08zx-1111-4111-8111-111111111111", g);
    sample->pid = 1;
    sample->accel = ACCEL_KVM;
    sample->method = "idle";
    sample->samples = 2000;
    sample->granularity_bytes = 4096;
    sample->ram_bytes = (uint64_t)ram;
    sample->resident_bytes = (uint64_t)ram;
    sample->n_windows = N_WINDOWS;
    for (size_t w = 0; w < N_WINDOWS; w++) {
        const double high = fmin(need * shares[w], ram);

        sample->windows[w] = (struct window_record){.window_s = windows_s[w],
                                                    .est_window_s = windows_s[w] + 0.5,
                                                    .wss_bytes = (uint64_t)(0.96 * high),
                                                    .wss_low_bytes = (uint64_t)(0.92 * high),
                                                    .wss_high_bytes = (uint64_t)high,
                                                    .touched_fraction = 0.96 * high / ram};
    }
}

/* One record of each guest that is there in that minute. */
static int add_minute(struct store *store, const struct generated *generated, const char *host,
                      size_t minute, double time_s, struct error *error)
{
    static struct ages_record records[MAX_GUESTS];
    static struct store_entry entries[MAX_GUESTS];
    size_t n = 0;

    for (size_t g = 0; g < generated->n_guests; g++) {
        const double need = generated->need[g * generated->n_minutes + minute];

        if (need < 0)
            continue;
        fill(&records[n], host, g, generated->ram_bytes[g], need);
        records[n].sample.time.tv_sec = (time_t)time_s;
        entries[n] = (struct store_entry){.record = &records[n], .period_s = 60, .precision = 0.02};
        n++;
    }
    return n > 0 ? store_add(store, entries, n, error) : 0;
}

int main(int argc, char **argv)
{
    struct error error = {0};
    struct store *store;
    int rc;

    if (argc != 6 || strtoul(argv[3], NULL, 10) > MAX_GUESTS)
        return 1;

    const size_t minutes = (size_t)(strtod(argv[4], NULL) * DAY_MINUTES);
    const struct family *family = &families[strtoul(argv[5], NULL, 10) % n_families];
    struct generated generated = generate(family, strtoul(argv[3], NULL, 10), minutes, 1,
                                          strtoul(argv[5], NULL, 10) + 1);
    const double end_s = floor((double)time(NULL) / 60) * 60 - 30;

    rc = store_open(argv[1], &store, &error);
    for (size_t t = 0; rc == 0 && t < minutes; t++)
        rc = add_minute(store, &generated, argv[2], t, end_s - 60 * (double)(minutes - 1 - t),
                        &error);
    if (rc == 0)
        store_close(store);
    else
        fprintf(stderr, "%s\n", error.text);
    generated_free(&generated);
    return rc < 0;
}
