// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file bucket_beside.h  Of one guest the minute next to a time: found in the index, however far
 * away it is. */
#pragma once

#include "base/error.h"
#include "history/bucket.h"

#include <sqlite3.h>
#include <stdbool.h>

struct store;

struct bucket_beside {
    struct store *store;
    sqlite3_stmt *statement;
    int64_t start_s; /* what was read last */
    struct bucket *bucket;
    bool unreadable; /* a row that vmwss has not written */
};

/** @p after: the first minute that begins after the time; else the last one that begins by then.
 * Finish with bucket_beside_end(), whatever it returns. */
int bucket_beside_begin(struct bucket_beside *beside, struct store *store, bool after,
                        struct error *error);
void bucket_beside_end(struct bucket_beside *beside);

/** @p window_s: that window alone; 0: all. 1: start_s and bucket are set; 0: there is none;
 * -EUCLEAN: it is unreadable; or as the history. */
int bucket_beside_read(struct bucket_beside *beside, int64_t guest_id, int64_t time_s,
                       double window_s, struct error *error);
