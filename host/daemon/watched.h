// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file watched.h  One guest that is watched: its panel, from one look to the next. By one thread
 * at a time.
 *
 * A look locks the guest, reads and marks its panel, and lends the lock again (run_lock.h): `vmwss
 * measure` by hand remains possible in between. If somebody did measure, our marks are void and the
 * panel begins anew.
 *
 * The first panel is small: what it costs tells how large the real one may be.
 */
#pragma once

#include "record/ages_record.h"

struct watched; /* opaque */

/** What is wanted of every guest. */
struct watch_rules {
    const struct method *method; /* NULL: the first of idle, pageout, zap that proves itself */
    size_t n_windows;
    double window_s[RUN_MAX_WINDOWS]; /* ascending */
    double tick_s;                    /* the shortest time between two looks */
};

/** Takes over the opened @p guest, which is moved. NULL: out of memory, and the guest was not
 * taken. Borrows @p root. */
struct watched *watched_new(struct guest *guest, const struct fsroot *root);

/** Is the guest's RAM made of what it was made of when it was opened? @p xml: as its live XML says
 * now; it is refined by what this QEMU was started with, as it was then. Nothing of that ever
 * changes here, so any thread may ask. */
bool watched_has_ram(const struct watched *watched, struct ram_config *xml);

/** Restores what was marked, and frees. NULL is allowed. */
void watched_free(struct watched *watched);

/** How long the guest stood still altogether: its panel does not age meanwhile. */
void watched_stood_still(struct watched *watched, uint64_t total_ns);

/** Jobs (enum sample_flag) were seen since the last look. */
void watched_note_jobs(struct watched *watched, unsigned flags);

/** The rules have changed: the panel begins anew at the next look. */
void watched_begin_anew(struct watched *watched);

/**
 * A look. Opens the guest, and chooses its method, at the first.
 * @param samples  pages that the panel shall have
 * @param cpu_s    CPU time of earlier looks that no record tells yet
 * @return 0: @p record is filled; -EAGAIN: there is nothing to tell yet; -EBUSY: another vmwss
 * measures it;
 *         -ESRCH: it is gone; -ENOTSUP: no method can follow it; else what went wrong: the next
 *         look begins anew
 */
int watched_look(struct watched *watched, const struct watch_rules *rules, uint64_t samples,
                 double cpu_s, struct ages_record *record, struct error *error);

/** Of a guest that could not be looked at: a record of its size, without windows. False: not even
 * that is known. */
bool watched_size(const struct watched *watched, struct ages_record *record);

/** Fetches what the kernel keeps in a small buffer: to be called between looks when
 * watched_wake_fd() is readable. */
int watched_poll(struct watched *watched, struct error *error);

/** For poll(2), of its present panel: it may be another after a look. -1: there is nothing to
 * fetch. */
int watched_wake_fd(const struct watched *watched);

/** Pages looked at; 0: none yet. */
uint64_t watched_pages(const struct watched *watched);

/** The method that watches it; "" while there is none. */
const char *watched_method(const struct watched *watched);
