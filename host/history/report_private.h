// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report_private.h  The walk over a report's buckets, ordered by time. report.c walks;
 * report_guests.c takes the buckets of each guest and computes its figures. */
#pragma once

#include "history/host_need.h"
#include "history/report.h"
#include "measure/estimate/packing.h"

struct bucket;
struct store;

/* A guest during the walk. */
struct walked {
    struct report_guest *out;
    struct sketch sketch;
    struct sketch_step *steps; /* steps of its last bucket */
    size_t n_steps;
    double last_s, period_s; /* from its last bucket */
    double assumed_bytes;    /* need assumed while it was not measured */
    double ended_s;          /* HUGE_VAL: no end is known */
};

struct walk {
    struct report *report;
    size_t n;
    struct walked *guests; /* ordered by id */
    struct packing_guest *present;
    double *totals;
    double *fits;
    size_t n_draws, n_fits, room, draws_each;
    double time_s; /* time of the current buckets; negative: none yet */
    size_t n_times;
    struct host_needs needs; /* minutes, ordered by time, */
    size_t next_need;        /* index of the first of these that the walk has not reached */
    uint64_t state;
};

/** 0 or -ENOMEM. */
int walk_make_guests(struct walk *walk, const struct history_guest *guests, size_t n);
int walk_read_ends(struct walk *walk, struct store *store, struct error *error);

/** NULL if there is no guest of that id. */
struct walked *walk_find_guest(struct walk *walk, int64_t id);

/**
 * Returns true if the guest has a record in this bucket, or if its next record is not yet late: it
 * may come up to a period after the end of its last bucket. So a guest measured every five minutes
 * is also present in the four minutes without a record. A guest measured every minute is present in
 * an hour that has just begun, but not in a whole hour without records. A guest is not present
 * after its end, if that is known.
 */
bool walked_is_present(const struct walk *walk, const struct walked *guest);

/** Takes a bucket. If the bucket lacks the window, only its size is known, and all of it counts as
 * used. 0 or -ENOMEM. */
int walked_take(struct walked *guest, int64_t start_s, const struct bucket *bucket);

/** Removes guests without the window, and adds up the sums of the running guests. */
void walk_finish_guests(struct walk *walk);

/** Finds the read-mostly part of each guest's working set; report_writes.c. */
int report_read_writes(struct report *report, struct store *store, struct error *error);
