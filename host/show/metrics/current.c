// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/metrics/current.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct store *store;
    struct current *current;
    struct error *error;
    double now_s, stale_s;
};

static double time_of(const struct kept_sample *kept)
{
    return timespec_s(&kept->record.sample.time);
}

static int append_sample(const struct reading *reading, const struct kept_sample *kept)
{
    struct current *current = reading->current;
    struct current_guest guest = {.kept = *kept};
    const struct sample_record *sample = &kept->record.sample;
    int rc = history_latest_writes(reading->store, sample->host, sample->uuid,
                                   reading->now_s - CURRENT_WRITES_S, &guest.writes,
                                   reading->error);

    return rc < 0 ? rc : array_put(&current->guests, &current->n, &guest, sizeof(guest));
}

/* Cleans texts before they are compared, because replacing bytes can make two names equal. */
static void clean(struct sample_record *sample)
{
    utf8_clean(sample->host);
    utf8_clean(sample->domain);
    utf8_clean(sample->uuid);
}

static int current_see(const struct kept_sample *kept, void *context)
{
    const struct reading *reading = context;
    struct current *current = reading->current;
    double stale_s = fmax(reading->stale_s, CURRENT_PERIODS * kept->period_s);
    int rc;

    current->n_known++;
    current->newest_s = fmax(current->newest_s, time_of(kept));
    if (kept->ended_s > 0 || reading->now_s - time_of(kept) > stale_s)
        return 0;
    rc = append_sample(reading, kept);
    if (rc == 0)
        clean(&current->guests[current->n - 1].kept.record.sample);
    return rc;
}

static int by_uuid_newest_first(const void *a, const void *b)
{
    const struct kept_sample *x = &((const struct current_guest *)a)->kept;
    const struct kept_sample *y = &((const struct current_guest *)b)->kept;
    int order = strcmp(x->record.sample.uuid, y->record.sample.uuid);

    return order ? order : (time_of(x) < time_of(y)) - (time_of(x) > time_of(y));
}

static int by_name(const void *a, const void *b)
{
    const struct sample_record *x = &((const struct current_guest *)a)->kept.record.sample;
    const struct sample_record *y = &((const struct current_guest *)b)->kept.record.sample;
    int order = strcmp(x->domain, y->domain);

    return order ? order : strcmp(x->uuid, y->uuid);
}

static bool same_uuid(const struct current_guest *a, const struct current_guest *b)
{
    return strcmp(a->kept.record.sample.uuid, b->kept.record.sample.uuid) == 0;
}

static bool same_name(const struct current_guest *a, const struct current_guest *b)
{
    return strcmp(a->kept.record.sample.domain, b->kept.record.sample.domain) == 0;
}

/* Keeps one row for each UUID, and marks names that are not unique. */
static void tell_apart(struct current *current)
{
    struct current_guest *guests = current->guests;
    size_t n = 0;

    qsort(guests, current->n, sizeof(*guests), by_uuid_newest_first);
    for (size_t i = 0; i < current->n; i++)
        if (n == 0 || !same_uuid(&guests[i], &guests[n - 1]))
            guests[n++] = guests[i];
    current->n = n;
    qsort(guests, n, sizeof(*guests), by_name);
    for (size_t i = 1; i < n; i++)
        if (same_name(&guests[i], &guests[i - 1]))
            guests[i].shares_name = guests[i - 1].shares_name = true;
}

int current_read(struct store *store, double now_s, double stale_s, struct current *current,
                 struct error *error)
{
    struct reading reading = {store, current, error, now_s, stale_s};
    int rc;

    *current = (struct current){0};
    rc = history_latest(store, current_see, &reading, error);
    if (rc == 0 && current->n > 0)
        tell_apart(current);
    if (rc == -ENOMEM)
        error_set(error, rc, "out of memory for %zu guests", current->n);
    if (rc < 0)
        current_free(current);
    return rc;
}

void current_free(struct current *current)
{
    free(current->guests);
    *current = (struct current){0};
}
