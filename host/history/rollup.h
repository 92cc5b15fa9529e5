// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file rollup.h  Adds every record to its minute and its hour in the transaction that stores it.
 *
 * So all levels are always consistent, and no level is computed from rows that retention may have
 * deleted. A record that comes late, or after the clock was set back, is added to the right bucket.
 * Retention only has to delete.
 */
#pragma once

#include "base/error.h"
#include "history/bucket.h"

#include <sqlite3.h>

struct store;

struct rollup {
    struct store *store;
    sqlite3_stmt *read, *write;
    struct bucket *bucket; /* scratch for one bucket */
};

/** Returns the start of the bucket that contains @p time_s, which may be before 1970. */
int64_t bucket_start(int64_t time_s, int level_s);

/** Call rollup_end() even after an error. */
int rollup_begin(struct rollup *rollup, struct store *store, struct error *error);
void rollup_end(struct rollup *rollup);

/** Adds a record of guest @p id to both buckets. Replaces an unreadable bucket. */
int rollup_add(struct rollup *rollup, int64_t id, const struct kept_sample *kept,
               struct error *error);
