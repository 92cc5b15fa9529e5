// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/standing.h"

#include "base/array.h"
#include "history/bucket_need.h"
#include "history/event.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* --- events ----------------------------------------------------------------------------------- */

static int see_event(enum event_kind kind, double time_s, void *context)
{
    struct standing_events *events = context;

    if (kind != EVENT_START && kind != EVENT_END)
        return 0;
    return array_put(&events->all, &events->n, &(struct standing_event){time_s, kind == EVENT_END},
                     sizeof(*events->all));
}

int standing_events_read(struct store *store, int64_t guest_id, double to_s,
                         struct standing_events *events, struct error *error)
{
    const struct history_query query = {.to_s = fmin(to_s, 9e12)};
    int rc;

    *events = (struct standing_events){0};
    rc = history_events(store, guest_id, &query, see_event, events, error);
    return rc == -ENOMEM ? error_set(error, rc, "out of memory for events") : rc;
}

void standing_events_free(struct standing_events *events)
{
    free(events->all);
    *events = (struct standing_events){0};
}

/* --- duration --------------------------------------------------------------------------------- */

static double minute_of(double time_s)
{
    return floor(time_s / BUCKET_MINUTE) * BUCKET_MINUTE;
}

struct standing standing_of(int64_t start_s, const struct bucket *bucket)
{
    return (struct standing){(double)start_s, (double)bucket->period_ms / 1000,
                             bucket_period_s(bucket)};
}

/* The history does not store when in its minute a record was made; the end of the minute is
 * assumed. */
double standing_from(const struct standing *of, const struct standing *before,
                     const struct standing_events *events)
{
    double from_s = minute_of(of->start_s - of->period_s) + BUCKET_MINUTE;

    if (before)
        from_s = fmax(from_s, before->start_s + BUCKET_MINUTE);
    for (size_t i = 0; i < events->n; i++) {
        const struct standing_event *event = &events->all[i];

        if (event->ended && event->time_s < of->start_s)
            from_s = fmax(from_s, minute_of(event->time_s) + BUCKET_MINUTE);
        if (!event->ended && event->time_s < of->start_s + BUCKET_MINUTE)
            from_s = fmax(from_s, minute_of(event->time_s));
    }
    return fmin(from_s, of->start_s);
}

/* A guest that starts in the record's own minute may have started before the record. */
static double ended_after(double start_s, const struct standing_events *events)
{
    double ended_s = HUGE_VAL;

    for (size_t i = 0; i < events->n; i++) {
        const struct standing_event *event = &events->all[i];

        if (event->time_s < start_s)
            continue;
        if (event->ended)
            ended_s = fmin(ended_s, event->time_s);
        else if (event->time_s < start_s + BUCKET_MINUTE)
            ended_s = HUGE_VAL;
    }
    return ended_s;
}

double standing_until(const struct standing *of, const struct standing_events *events, bool known)
{
    const double until_s = of->start_s +
                           (known ? bucket_lasts_s(of->each_s) : bucket_stands_s(of->each_s));

    return fmax(fmin(until_s, ended_after(of->start_s, events)), of->start_s + BUCKET_MINUTE);
}

/* --- one after the other ---------------------------------------------------------------------- */

static void span_of_last(const struct standing_guest *guest, double next_s,
                         struct standing_span *span)
{
    *span = (struct standing_span){
        .from_s = guest->from_s,
        .until_s = fmin(standing_until(&guest->last, &guest->events, false), next_s),
        .known_s = fmin(standing_until(&guest->last, &guest->events, true), next_s),
        .bytes = guest->bytes,
    };
}

bool standing_next(struct standing_guest *guest, int64_t start_s, const struct bucket *bucket,
                   struct standing_span *span)
{
    const bool had = guest->has;
    const struct standing next = standing_of(start_s, bucket);
    double bytes;

    if (!bucket_need(bucket, &bytes))
        return false;

    const double from_s = guest->forward
                              ? next.start_s
                              : standing_from(&next, had ? &guest->last : NULL, &guest->events);

    if (had)
        span_of_last(guest, from_s, span);
    guest->has = true;
    guest->last = next;
    guest->from_s = from_s;
    guest->bytes = bytes;
    return had;
}

bool standing_end(struct standing_guest *guest, struct standing_span *span)
{
    if (!guest->has)
        return false;
    span_of_last(guest, HUGE_VAL, span);
    guest->has = false;
    return true;
}
