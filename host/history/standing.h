// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file standing.h  For which time a guest's records stand, when what several guests need is added
 * up minute by minute. Pure functions but for reading events.
 *
 * Theory of operation. A record stands for the time before it: since the guest's last record, as
 * far as its period says (store.h). That may be hours, so a minute's need is often that of a record
 * that comes much later. The minute of a record itself is that record's. Where the next record does
 * not reach back to, or is yet to come, the last one goes on until the next is late. Neither goes
 * beyond the guest's end or its start. Thus each minute has one record of a guest at most, and none
 * where nothing is known of it.
 *
 * A planner may read what an exporter served, which cannot wait for a record that is yet to come:
 * for it a record stands forward, from its own minute until the guest's next one.
 */
#pragma once

#include "history/bucket.h"
#include "history/store.h"

#include <stdbool.h>

/** When a guest began and ended, in the order of time. */
struct standing_events {
    size_t n;
    struct standing_event {
        double time_s;
        bool ended;
    } * all;
};

/** Up to @p to_s; free it with standing_events_free(), whatever is returned. 0, or as the history;
 * -ENOMEM. */
int standing_events_read(struct store *store, int64_t guest_id, double to_s,
                         struct standing_events *events, struct error *error);
void standing_events_free(struct standing_events *events);

/** The records of one minute, as one. */
struct standing {
    double start_s;  /* of that minute */
    double period_s; /* what they stand for, in sum */
    double each_s;   /* and on average */
};
struct standing standing_of(int64_t start_s, const struct bucket *bucket);

/** The start of the first minute that it stands for; @p before: the guest's bucket before it; NULL:
 * there is none. */
double standing_from(const struct standing *of, const struct standing *before,
                     const struct standing_events *events);

/** Up to when it stands if none comes after it; @p known: and is taken for a record of that time.
 * Without that, a guest that is measured each minute is in the sum of a minute that just missed its
 * record, but does not make that minute known. */
double standing_until(const struct standing *of, const struct standing_events *events, bool known);

/** The time that one bucket of a guest stands for, and what it says of it. */
struct standing_span {
    double from_s, until_s; /* whole minutes from from_s on, the last of which may be over before */
    double known_s;         /* up to when that is known */
    double bytes;           /* of bucket_need() */
};

/** A guest whose buckets are read in the order of time. */
struct standing_guest {
    struct standing_events events;
    bool forward; /* as for planners */
    bool has;     /* a bucket: */
    struct standing last;
    double from_s, bytes;
};

/** The next bucket, of one that has a need. True: *span is what the one before it stands for. */
bool standing_next(struct standing_guest *guest, int64_t start_s, const struct bucket *bucket,
                   struct standing_span *span);
/** There is none any more. */
bool standing_end(struct standing_guest *guest, struct standing_span *span);
