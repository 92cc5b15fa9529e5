// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file bucket_beside.h  Finds a guest's minute closest before or after a time, at any distance,
 * through the index. */
#pragma once

#include "base/error.h"
#include "history/bucket.h"

#include <sqlite3.h>
#include <stdbool.h>

struct store;

struct bucket_beside {
    struct store *store;
    sqlite3_stmt *statement;
    int64_t start_s; /* the minute that was just read */
    struct bucket *bucket;
    bool unreadable; /* vmwss has not written the row */
};

/** @p after: find the first minute that begins after the time; otherwise the last one that begins
 * at or before it. Call bucket_beside_end() even after an error. */
int bucket_beside_begin(struct bucket_beside *beside, struct store *store, bool after,
                        struct error *error);
void bucket_beside_end(struct bucket_beside *beside);

/** @p window_s: reads only that window; 0: all. Returns 1: start_s and bucket are set; 0: there is
 * no such minute; -EUCLEAN: it is unreadable; or an error of the history. */
int bucket_beside_read(struct bucket_beside *beside, int64_t guest_id, int64_t time_s,
                       double window_s, struct error *error);
