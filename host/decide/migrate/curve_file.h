// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file curve_file.h  The guest of a forecast: its memory and its write curve, measured now or read
 * from what vmwss measure --writes --json printed.
 *
 * One marking sees one phase of a guest: its short windows all begin at the same moment. So several
 * markings are joined into one curve, of the mean and the outermost bounds. They are short and
 * many, with pauses of different lengths between them, as a guest's phases may be as far apart as
 * equal ones.
 */
#pragma once

#include "base/error.h"
#include "decide/migrate/forecast.h"
#include "measure/estimate/write_curve.h"

#include <stdbool.h>

struct migrate_guest {
    char domain[256]; /* empty if unknown */
    char uuid[37];
    bool kvm;
    bool arrived;    /* by a migration, which leaves pages of zeroes resident; a record has no such
                        word */
    bool vhost_user; /* processes of such devices may write into its memory, unseen; nor
                      * has a record this */
    uint64_t ram_bytes, resident_bytes;
    uint64_t wss_bytes;        /* of the longest window; 0: not measured */
    struct write_curve writes; /* of all markings */
    struct write_curve quiet;  /* the least that any of them saw */
    unsigned n_markings;
};

/** The number of markings of a guest; all but the first are short. */
#define MIGRATE_MARKINGS 8

/** Returns how long the pause is before a marking from the second on, @p i from 1: less than half a
 * second. */
double migrate_marking_pause_s(unsigned i);

/** Returns the longest window of a short marking: as long as a last round can be, within 0.5 and
 * 1 s. */
double migrate_marking_window_s(double downtime_s);

/** Sets the curve of the guest's first marking. */
void migrate_guest_mark(struct migrate_guest *guest, const struct write_curve *curve);

/** Joins the curve of another marking of the same guest, as far as its windows go. */
void migrate_guest_join(struct migrate_guest *guest, const struct write_curve *curve);

/** No record is longer. */
#define MIGRATE_CURVE_TEXT (256U << 10)

/** Returns how much of the guest's RAM holds something, by migrate_filled(). */
struct migrate_range migrate_guest_filled(const struct migrate_guest *guest);

/** Reads records of schema vmwss.sample.v1 that have "writes", all of one guest, @p size bytes.
 * Returns 0; -EINVAL, and the message says what is missing. */
int migrate_curve_parse(const char *text, size_t size, struct migrate_guest *guest,
                        struct error *error);

/** Reads it from a file or a pipe. Returns 0, or a negative errno. */
int migrate_curve_read(const char *path, struct migrate_guest *guest, struct error *error);
