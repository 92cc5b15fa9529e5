// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file rollup.h  Every record goes into its minute and its hour as it is added, in the same
 * transaction.
 *
 * So no level is ever behind another, none is computed from rows that retention may have taken, a
 * record that comes late or under a clock that was set back finds its place, and retention only
 * deletes.
 */
#pragma once

#include "base/error.h"
#include "history/bucket.h"

#include <sqlite3.h>

struct store;

struct rollup {
    struct store *store;
    sqlite3_stmt *read, *write;
    struct bucket *bucket; /* room for one */
};

/** When the bucket begins that @p time_s is in; also before 1970. */
int64_t bucket_start(int64_t time_s, int level_s);

/** Finish with rollup_end(), whatever it returns. */
int rollup_begin(struct rollup *rollup, struct store *store, struct error *error);
void rollup_end(struct rollup *rollup);

/** Adds a record of guest @p id to both buckets. One that cannot be read is begun anew. */
int rollup_add(struct rollup *rollup, int64_t id, const struct kept_sample *kept,
               struct error *error);
