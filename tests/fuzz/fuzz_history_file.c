// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fuzz_history_file.c  The file of a history, which may have come from anywhere: the one that
 * this target writes when it starts, with the input's bytes put over it. Three bytes are an offset,
 * the fourth is the number of bytes that follow.
 */
#include "below.h"
#include "history/event.h"
#include "history/report.h"
#include "history/writes.h"

#include <math.h>
#include <sqlite3.h>

#define GUESTS 2
#define BEGAN_S 1700000000
#define RECORDS 14
#define MIB (1ULL << 20)
#define NAME "history.db"

static char path[64], *whole;
static size_t whole_bytes;
static int file_fd;

/* --- the file --------------------------------------------------------------------------------- */

static void fill(struct ages_record *record, int guest, int number)
{
    struct sample_record *sample = &record->sample;
    const uint64_t wss_bytes = (uint64_t)(10 + number) * MIB;

    *record = (struct ages_record){.n_bins = 1};
    record->bins[0] = (struct age_bin){0, HUGE_VAL, 256 * MIB, 256 * MIB, 256 * MIB};
    sample->time.tv_sec = BEGAN_S + 300 * number;
    strcpy(sample->host, "host");
    snprintf(sample->domain, sizeof(sample->domain), "web%d", guest);
    snprintf(sample->uuid, sizeof(sample->uuid), "%08d-1111-4111-8111-111111111111", guest);
    sample->method = "idle";
    sample->pid = 1;
    sample->granularity_bytes = 4096;
    sample->ram_bytes = 1024 * MIB;
    sample->resident_bytes = 256 * MIB;
    sample->n_windows = 1;
    sample->windows[0] = (struct window_record){.window_s = 10,
                                                .est_window_s = 10,
                                                .wss_bytes = wss_bytes,
                                                .wss_low_bytes = wss_bytes / 2,
                                                .wss_high_bytes = wss_bytes * 2,
                                                .touched_fraction = 0.1};
    sample->writes = (struct write_curve){
        .method = "soft-dirty", .granularity_bytes = 4096, .n = 1};
    sample->writes.points[0] = (struct write_point){10, 10, MIB, MIB, MIB};
    guest_stats_unavailable(&sample->guest, "%s", "");
}

static void write_history(struct store *store)
{
    static struct ages_record record;
    const struct store_entry entry = {.record = &record, .period_s = 300, .last_report = "{}\n"};
    struct store_event event = {.host = "host", .kind = EVENT_START, .time_s = BEGAN_S + 1};

    for (int guest = 0; guest < GUESTS; guest++) {
        for (int number = 0; number < RECORDS; number++) {
            fill(&record, guest, number);
            CLAIM(store_add(store, &entry, 1, NULL) == 0);
        }
        memcpy(event.uuid, record.sample.uuid, sizeof(event.uuid));
        CLAIM(store_add_event(store, &event, NULL) == 0);
    }
}

static void make_file(void)
{
    const int dir_fd = below_root()->dirfd;
    struct store *store;
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", below_path, NAME);
    CLAIM(store_open(path, &store, NULL) == 0);
    write_history(store);
    store_close(store);
    file_fd = openat(dir_fd, NAME, O_RDWR);
    CLAIM(file_fd >= 0 && fstat(file_fd, &st) == 0 && st.st_size < 1 << 24);
    whole_bytes = (size_t)st.st_size;
    whole = malloc(whole_bytes);
    CLAIM(whole && pread(file_fd, whole, whole_bytes, 0) == (ssize_t)whole_bytes);
}

/* Puts the input's bytes over the file; or, with @p undo, the file's own. */
static void patch(const uint8_t *data, size_t size, bool undo)
{
    while (size > 4) {
        const size_t at = ((size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2]) % whole_bytes;
        size_t n = data[3] < size - 4 ? data[3] : size - 4;

        n = n < whole_bytes - at ? n : whole_bytes - at;
        CLAIM(pwrite(file_fd, undo ? (const void *)(whole + at) : data + 4, n, (off_t)at) ==
              (ssize_t)n);
        n = data[3] < size - 4 ? data[3] : size - 4;
        data += 4 + n;
        size -= 4 + n;
    }
}

/* --- its readers ------------------------------------------------------------------------------ */

static int check_latest(const struct kept_sample *kept, void *context)
{
    (void)context;
    for (size_t w = 0; w < kept->record.sample.n_windows; w++) {
        const struct window_record *window = &kept->record.sample.windows[w];

        CLAIM(window->wss_low_bytes <= window->wss_bytes &&
              window->wss_bytes <= window->wss_high_bytes);
    }
    return 0;
}

static int check_point(const struct history_point *point, void *context)
{
    (void)context;
    CLAIM(point->wss_low_bytes <= point->wss_bytes && point->wss_bytes <= point->wss_high_bytes);
    CLAIM(isfinite(point->time_s) && point->period_s > 0);
    return 0;
}

static int check_event(enum event_kind kind, double time_s, void *context)
{
    (void)context;
    CLAIM(event_kind_name(kind) && isfinite(time_s));
    return 0;
}

static int check_writes(const struct kept_writes *writes, void *context)
{
    (void)context;
    for (size_t i = 0; i < writes->curve.n; i++)
        CLAIM(writes->curve.points[i].low_bytes <= writes->curve.points[i].bytes &&
              writes->curve.points[i].bytes <= writes->curve.points[i].high_bytes);
    return 0;
}

static void read_guest(struct store *store, const struct history_guest *guest)
{
    static char lines[AGENT_LAST_REPORT_MAX];
    struct history_query query = {.from_s = 0, .to_s = 4e9, .window_s = 10};
    double windows[RUN_MAX_WINDOWS], time_s;

    CLAIM(memchr(guest->name, 0, sizeof(guest->name)));
    for (int level = 0; level < 3; level++) {
        query.level_s = (const int[]){0, BUCKET_MINUTE, BUCKET_HOUR}[level];
        history_points(store, guest, &query, check_point, NULL, NULL);
    }
    history_events(store, guest->id, &query, check_event, NULL, NULL);
    history_writes(store, guest->id, &query, check_writes, NULL, NULL);
    CLAIM(history_windows(store, guest->id, windows, NULL) <= RUN_MAX_WINDOWS);
    if (history_last_report(store, guest->id, lines, &time_s, NULL) == 1)
        CLAIM(memchr(lines, 0, sizeof(lines)));
}

static void read_report(struct store *store)
{
    const struct report_options options = {
        .from_s = BEGAN_S, .to_s = BEGAN_S + 7200, .window_s = 10, .host = "host", .risk = 0.01};
    struct report report;

    if (report_make(store, &options, &report, NULL) < 0)
        return;
    CLAIM(report.total_p50 <= report.total_p95 && report.total_p95 <= report.total_max);
    CLAIM(report.total_p50 >= 0 && report.known_s >= 0);
    report_free(&report);
}

static void read_all(struct store *store)
{
    struct history_guest *guests = NULL;
    ssize_t n = history_guests(store, &guests, NULL);

    for (ssize_t i = 0; i < n && i < 2 * GUESTS; i++)
        read_guest(store, &guests[i]);
    free(guests);
    history_latest(store, check_latest, NULL, NULL);
    read_report(store);
    store_check(store, NULL, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {0};
    struct store *store;

    if (!whole)
        make_file();
    patch(data, size, false);
    if (history_open(path, &store, &error) == 0) {
        read_all(store);
        store_close(store);
    } else {
        CLAIM(error.code < 0 && *error.text);
    }
    patch(data, size, true);
    unlinkat(below_root()->dirfd, NAME "-wal", 0);
    unlinkat(below_root()->dirfd, NAME "-shm", 0);
    return 0;
}
