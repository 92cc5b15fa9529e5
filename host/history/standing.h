// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file standing.h  The time that a guest's record covers ("stands for"), used to add up the needs
 * of several guests minute by minute. Pure functions, except for reading events.
 *
 * Theory of operation. A record covers the time before it: since the guest's previous record, but
 * at most its period (store.h). This may be hours, so a minute's need often comes from a record
 * added much later. A minute that contains a record uses that record. If the next record does not
 * reach back to a minute, or does not exist yet, the previous record holds until the next one is
 * late. Neither extends beyond the guest's start or end. Thus each minute has at most one record of
 * a guest, and none if nothing is known.
 *
 * An exporter, whose series a planner may read, cannot wait for a future record. For it, a record
 * covers the time after it: from its own minute until the guest's next record.
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

/** Reads the events up to @p to_s; call standing_events_free() even after an error. Returns 0,
 * -ENOMEM, or an error of the history. */
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

/** Returns the start of the first minute that @p of covers. @p before: the guest's previous bucket;
 * NULL: there is none. */
double standing_from(const struct standing *of, const struct standing *before,
                     const struct standing_events *events);

/** Returns the time until which @p of holds if no other record follows; with @p known, the time
 * until which the need is known. Without @p known, a guest measured every minute is included in the
 * sum of a minute that just missed its record, but does not make that minute known. */
double standing_until(const struct standing *of, const struct standing_events *events, bool known);

/** The time that one bucket of a guest covers, and its need. */
struct standing_span {
    /* whole minutes beginning at from_s; until_s may lie within the last minute */
    double from_s, until_s;
    double known_s; /* time until which the need is known */
    double bytes;   /* from bucket_need() */
};

/** A guest whose buckets are read in the order of time. */
struct standing_guest {
    struct standing_events events;
    bool forward; /* each record covers only the time after it, as planners need it */
    bool has;     /* a bucket was read: */
    struct standing last;
    double from_s, bytes;
};

/** Takes the guest's next bucket, which must have a need. Returns true if it sets *span: the time
 * that the previous bucket covers. */
bool standing_next(struct standing_guest *guest, int64_t start_s, const struct bucket *bucket,
                   struct standing_span *span);
/** Ends the walk after the last bucket. */
bool standing_end(struct standing_guest *guest, struct standing_span *span);
