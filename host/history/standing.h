// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file standing.h  The time that a guest's records stand for, when the needs of several guests are
 * added up minute by minute. Pure functions, except for reading events.
 *
 * Theory of operation. A record stands for the time before it: since the guest's last record, as
 * far back as its period covers (store.h). This may be hours, so a minute's need often comes from a
 * record that is added much later. A minute that contains a record has that record. Where the next
 * record does not reach back, or does not exist yet, the last one holds until the next is late.
 * Neither extends beyond the guest's start or end. Thus each minute has at most one record of a
 * guest, and no record where nothing is known.
 *
 * A planner may read series that an exporter served, and an exporter cannot wait for a future
 * record: for it a record stands forward, from its own minute until the guest's next one.
 */
#pragma once

#include "history/bucket.h"
#include "history/store.h"

#include <stdbool.h>

/** Starts and ends of a guest, in the order of time. */
struct standing_events {
    size_t n;
    struct standing_event {
        double time_s;
        bool ended;
    } * all;
};

/** Reads the events up to @p to_s; free them with standing_events_free(), whatever is returned.
 * Returns 0, or an error of the history; -ENOMEM. */
int standing_events_read(struct store *store, int64_t guest_id, double to_s,
                         struct standing_events *events, struct error *error);
void standing_events_free(struct standing_events *events);

/** The records of one minute, taken together. */
struct standing {
    double start_s;  /* start of that minute */
    double period_s; /* sum of the records' periods */
    double each_s;   /* mean of the records' periods */
};
struct standing standing_of(int64_t start_s, const struct bucket *bucket);

/** Returns the start of the first minute that it stands for; @p before: the guest's previous
 * bucket; NULL: there is no such bucket. */
double standing_from(const struct standing *of, const struct standing *before,
                     const struct standing_events *events);

/** Returns the time until which it holds if no other follows. With @p known: the time until which
 * the need is known. Without it, a guest that is measured each minute is in the sum of a minute
 * that just missed its record, but does not make that minute known. */
double standing_until(const struct standing *of, const struct standing_events *events, bool known);

/** The time that one bucket of a guest stands for, and its need. */
struct standing_span {
    /* whole minutes from from_s on; until_s may lie within the last minute */
    double from_s, until_s;
    double known_s; /* time until which the need is known */
    double bytes;   /* from bucket_need() */
};

/** A guest whose buckets are read in the order of time. */
struct standing_guest {
    struct standing_events events;
    bool forward; /* records stand forward, for planners */
    bool has;     /* a bucket was read: */
    struct standing last;
    double from_s, bytes;
};

/** Takes the guest's next bucket, which must have a need. Returns true if *span is set to the time
 * that the bucket before it stands for. */
bool standing_next(struct standing_guest *guest, int64_t start_s, const struct bucket *bucket,
                   struct standing_span *span);
/** Ends the walk: there is no further bucket. */
bool standing_end(struct standing_guest *guest, struct standing_span *span);
