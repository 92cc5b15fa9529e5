// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/metrics/planning.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compare.h"
#include "base/utf8.h"
#include "history/bucket_beside.h"
#include "history/bucket_need.h"
#include "history/event.h"
#include "history/standing.h"
#include "show/metrics/exposition.h"
#include "show/metrics/prometheus_guest_stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A guest whose last record is this much older than the newest record is gone, unless its record
 * still holds. As in decide/plan/from_history.h. */
#define RECENT_S 3600

/* --- guests in the plan ----------------------------------------------------------------------- */

static const char *state_of(const struct sample_record *sample, bool has_event,
                            enum event_kind event, double event_s)
{
    if (has_event && event == EVENT_SUSPEND && event_s >= timespec_s(&sample->time))
        return "suspended";
    if (has_event && event == EVENT_UNWATCH && event_s >= timespec_s(&sample->time))
        return "unwatched";
    return sample->flags & FLAG_NOT_MEASURED ? "unmeasured" : NULL;
}

static void fill_guest(struct planning_guest *guest, const struct kept_sample *kept)
{
    const struct sample_record *sample = &kept->record.sample;

    snprintf(guest->name, sizeof(guest->name), "%s", sample->domain);
    snprintf(guest->uuid, sizeof(guest->uuid), "%s", sample->uuid);
    utf8_clean(guest->name);
    utf8_clean(guest->uuid);
    guest->ram_bytes = (double)sample->ram_bytes;
    guest->period_s = kept->period_s;
    guest->last_s = timespec_s(&sample->time);
    guest->used_bytes = NAN;
    if (sample->guest.source != GUEST_STATS_NONE && sample->guest.used_bytes != AGENT_UNKNOWN)
        guest->used_bytes = (double)smaller(sample->guest.used_bytes, sample->ram_bytes);
}

struct rostering {
    struct store *store;
    const struct history_guest *from; /* guests by host and name, the order of the records */
    size_t n, next;
    double now_s;
    struct planning_guest *guests; /* one for each of these guests; RAM 0: the guest is gone */
    struct error *error;
};

/* Called only for a guest whose next record is late, because a query for each guest would be most
 * of a scrape's cost. */
static int read_state(const struct rostering *rostering, struct planning_guest *guest,
                      const struct sample_record *sample)
{
    enum event_kind event = EVENT_START;
    double event_s = 0;
    int rc = 0;

    if (rostering->now_s - guest->last_s > guest->period_s)
        rc = history_last_event(rostering->store, guest->id, rostering->now_s, &event, &event_s,
                                rostering->error);
    guest->state = state_of(sample, rc == 1, event, event_s);
    return rc < 0 ? rc : 0;
}

static int see_latest(const struct kept_sample *kept, void *context)
{
    struct rostering *rostering = context;
    const struct sample_record *sample = &kept->record.sample;
    struct planning_guest *guest;
    size_t i = rostering->next;

    if (kept->ended_s > 0 && kept->ended_s <= rostering->now_s)
        return 0;
    while (i < rostering->n && (strcmp(rostering->from[i].uuid, sample->uuid) != 0 ||
                                strcmp(rostering->from[i].host, sample->host) != 0))
        i++;
    if (i == rostering->n || sample->ram_bytes == 0)
        return 0;
    rostering->next = i + 1;
    guest = &rostering->guests[i];
    guest->id = rostering->from[i].id;
    fill_guest(guest, kept);
    return read_state(rostering, guest, sample);
}

static bool is_still(const struct planning_guest *guest)
{
    return guest->state && strcmp(guest->state, "unmeasured") != 0;
}

/* Returns the host with the newest record. If the host was renamed, its old name has only old
 * records. */
static const char *newest_host(const struct history_guest *from, const struct planning_guest *of,
                               size_t n, double *newest_s)
{
    const char *host = NULL;

    *newest_s = 0;
    for (size_t i = 0; i < n; i++)
        if (of[i].last_s > *newest_s) {
            *newest_s = of[i].last_s;
            host = from[i].host;
        }
    return host;
}

COMPARE_BY(by_id, struct planning_guest, id)

/* Keeps the guests that are present. */
static void choose_guests(struct planning *planning, const struct history_guest *from, size_t n)
{
    struct planning_guest *guests = planning->guests;
    double newest_s;
    const char *host = newest_host(from, guests, n, &newest_s);

    if (host)
        snprintf(planning->host, sizeof(planning->host), "%s", host);
    else if (n > 0) /* all have ended */
        snprintf(planning->host, sizeof(planning->host), "%s", from[n - 1].host);
    else
        gethostname(planning->host, sizeof(planning->host) - 1);
    utf8_clean(planning->host);
    for (size_t i = 0; host && i < n; i++)
        if (guests[i].ram_bytes > 0 && strcmp(from[i].host, host) == 0 &&
            (is_still(&guests[i]) ||
             guests[i].last_s + fmax(RECENT_S, bucket_lasts_s(guests[i].period_s)) >= newest_s))
            guests[planning->n++] = guests[i];
    qsort(guests, planning->n, sizeof(*guests), by_id);
}

int planning_read(struct store *store, double now_s, double window_s, struct planning *planning,
                  struct error *error)
{
    cleanup_free struct history_guest *from = NULL;
    ssize_t n = history_guests(store, &from, error);
    struct rostering rostering = {.store = store, .now_s = now_s, .error = error};
    int rc;

    *planning = (struct planning){.window_s = window_s};
    if (n < 0)
        return (int)n;
    planning->guests = calloc((size_t)n + 1, sizeof(*planning->guests));
    if (!planning->guests)
        return error_set(error, -ENOMEM, "out of memory for %zd guests", n);
    rostering.from = from;
    rostering.n = (size_t)n;
    rostering.guests = planning->guests;
    rc = history_latest(store, see_latest, &rostering, error);
    if (rc < 0) {
        planning_free(planning);
        return rc;
    }
    choose_guests(planning, from, (size_t)n);
    return planning_values(store, now_s, planning, error);
}

void planning_free(struct planning *planning)
{
    free(planning->guests);
    *planning = (struct planning){0};
}

/* --- needs ------------------------------------------------------------------------------------ */

struct valuing {
    struct planning *planning;
    double start_s; /* start of the hour */
};

static struct planning_guest *find_guest(const struct planning *planning, int64_t id)
{
    const struct planning_guest key = {.id = id};

    return bsearch(&key, planning->guests, planning->n, sizeof(key), by_id);
}

static int see_hour(int64_t id, int64_t start_s, const struct bucket *bucket, void *context)
{
    const struct valuing *valuing = context;
    struct planning_guest *guest = find_guest(valuing->planning, id);
    const struct bucket_window *window;
    uint64_t bytes;

    if (!guest || (double)start_s != valuing->start_s || !(window = bucket_size(bucket, &bytes)))
        return 0;
    guest->size_bytes = (double)bytes;
    guest->size_window_s = window->window_s;
    return 0;
}

/* Reads the record of the minute, or the previous record if the next one is not late yet. A record
 * that covers this minute may come hours later; the scrape does not wait for it. */
static int read_need(struct bucket_beside *minutes, double minute_s, struct planning_guest *guest,
                     const struct planning *planning, struct error *error)
{
    int rc = bucket_beside_read(minutes, guest->id, (int64_t)minute_s, planning->window_s, error);
    double bytes;

    if (rc == 1 && bucket_need(minutes->bucket, &bytes)) {
        const struct standing last = standing_of(minutes->start_s, minutes->bucket);

        if (last.start_s + bucket_lasts_s(last.each_s) > minute_s)
            guest->need_bytes = bytes;
    }
    return rc < 0 ? rc : 0;
}

static int read_needs(struct store *store, double minute_s, struct planning *planning,
                      struct error *error)
{
    struct bucket_beside minutes;
    int rc = bucket_beside_begin(&minutes, store, false, error);

    for (size_t g = 0; rc == 0 && g < planning->n; g++)
        rc = read_need(&minutes, minute_s, &planning->guests[g], planning, error);
    bucket_beside_end(&minutes);
    return rc;
}

int planning_values(struct store *store, double now_s, struct planning *planning,
                    struct error *error)
{
    const double minute_s = (floor(now_s / BUCKET_MINUTE) - 1) * BUCKET_MINUTE;
    struct valuing hour = {planning, (floor(now_s / BUCKET_HOUR) - 1) * BUCKET_HOUR};
    const struct history_query hours = {BUCKET_HOUR, hour.start_s, hour.start_s, 0};
    int rc;

    for (size_t g = 0; g < planning->n; g++)
        planning->guests[g].need_bytes = planning->guests[g].size_bytes = NAN;
    rc = read_needs(store, minute_s, planning, error);
    return rc < 0 ? rc : history_buckets(store, &hours, see_hour, &hour, error);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void host_labels(char labels[LABELS_MAX], const struct planning *planning)
{
    labels[0] = '\0';
    exposition_label(labels, LABELS_MAX, "host", planning->host);
}

static void guest_labels(char labels[LABELS_MAX], const struct planning *planning,
                         const struct planning_guest *guest)
{
    host_labels(labels, planning);
    exposition_label(labels, LABELS_MAX, "domain", guest->name);
    exposition_label(labels, LABELS_MAX, "uuid", guest->uuid);
}

static void window_label(char labels[LABELS_MAX], double window_s)
{
    char window[32];

    snprintf(window, sizeof(window), "%.10g", window_s);
    exposition_label(labels, LABELS_MAX, "window", window);
}

static void write_host(FILE *out, const struct planning *planning, uint64_t capacity_bytes,
                       uint64_t reserve_bytes)
{
    char labels[LABELS_MAX];
    double joint = 0;

    for (size_t g = 0; g < planning->n; g++)
        joint += isnan(planning->guests[g].need_bytes) ? 0 : planning->guests[g].need_bytes;
    host_labels(labels, planning);
    exposition_family(out, "vmwss_plan_capacity_bytes", "Memory of the host for guests.");
    if (capacity_bytes > 0)
        exposition_sample(out, "vmwss_plan_capacity_bytes", labels, (double)capacity_bytes);
    exposition_family(out, "vmwss_plan_reserve_bytes", "Of the capacity, kept free.");
    exposition_sample(out, "vmwss_plan_reserve_bytes", labels, (double)reserve_bytes);
    window_label(labels, planning->window_s);
    exposition_family(out, "vmwss_plan_host_need_bytes",
                      "What all guests needed together in the last whole minute.");
    exposition_sample(out, "vmwss_plan_host_need_bytes", labels, joint);
}

enum plan_window { NO_WINDOW, WINDOW_OF_NEED, WINDOW_OF_SIZE };

/* A guest without the value (NAN) has no sample. */
static const struct {
    const char *name, *help;
    size_t offset;
    enum plan_window window;
} families[] = {
    {"vmwss_plan_ram_bytes", "RAM of a guest that is there.",
     offsetof(struct planning_guest, ram_bytes), NO_WINDOW},
    {"vmwss_plan_need_bytes", "Upper bound of the guest's working set in the last whole minute.",
     offsetof(struct planning_guest, need_bytes), WINDOW_OF_NEED},
    {"vmwss_plan_size_bytes",
     "The same of the last whole hour, at the longest window up to an hour.",
     offsetof(struct planning_guest, size_bytes), WINDOW_OF_SIZE},
    {"vmwss_plan_used_bytes", "Memory in use as the guest says.",
     offsetof(struct planning_guest, used_bytes), NO_WINDOW},
};

static void write_family(FILE *out, const struct planning *planning, size_t f)
{
    char labels[LABELS_MAX];

    exposition_family(out, families[f].name, families[f].help);
    for (size_t g = 0; g < planning->n; g++) {
        const struct planning_guest *guest = &planning->guests[g];
        const double value = *(const double *)(const void *)((const char *)guest +
                                                             families[f].offset);

        if (isnan(value))
            continue;
        guest_labels(labels, planning, guest);
        if (families[f].window != NO_WINDOW)
            window_label(labels, families[f].window == WINDOW_OF_NEED ? planning->window_s
                                                                      : guest->size_window_s);
        exposition_sample(out, families[f].name, labels, value);
    }
}

static void write_states(FILE *out, const struct planning *planning)
{
    char labels[LABELS_MAX];

    exposition_family(out, "vmwss_plan_state",
                      "A guest that is suspended, unwatched or unmeasured. Always 1.");
    for (size_t g = 0; g < planning->n; g++) {
        if (!planning->guests[g].state)
            continue;
        guest_labels(labels, planning, &planning->guests[g]);
        exposition_label(labels, LABELS_MAX, "state", planning->guests[g].state);
        exposition_sample(out, "vmwss_plan_state", labels, 1);
    }
}

void planning_write(FILE *out, const struct planning *planning, uint64_t capacity_bytes,
                    uint64_t reserve_bytes)
{
    write_host(out, planning, capacity_bytes, reserve_bytes);
    for (size_t f = 0; f < COUNT(families); f++)
        write_family(out, planning, f);
    write_states(out, planning);
}
