// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file open_store.h  The state of an open database (store.h) that only the files of this room
 * use.
 */
#pragma once

#include "base/error.h"
#include "history/limit.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct adding; /* statements of add.c, kept from one call to the next; NULL: not prepared */

void adding_free(struct adding *adding);

struct sum; /* statements of host_sum.c, kept in the same way */

void host_sum_free(struct sum *sum);

/** Makes a store without opening it; NULL if out of memory. */
struct store *store_new(const char *path, struct error *error);

/** Returns true if its WAL is not empty. */
bool store_has_wal(const struct store *store);

struct store {
    sqlite3 *db;
    char *path;
    struct adding *adding;
    struct sum *sum;
    char notice[640];
    bool left_open;
    struct read_limit limit; /* a reader's */
    /* used by wal.c */
    uint64_t wal_held_pages; /* pages of the WAL while a reader prevents its truncation */
    uint64_t wal_max_bytes;
    int64_t page_bytes;
    /* store_maintain(): detects jumps of the clock */
    bool clock_seen;
    double clock_offset_s; /* wall clock minus steady clock */
    double settled_at_s;   /* time on the steady clock */
    /* used by host_need_sum() */
    int64_t summed_s;        /* minutes before it are added up; 0: not known yet */
    int64_t final_s;         /* no new record can cover a minute before it */
    double longest_period_s; /* no record that was added covers a longer time */
};

/** Sets the error for an allocation failure; returns -ENOMEM. */
static inline int sql_no_memory(const struct store *store, struct error *error)
{
    return error_set(error, -ENOMEM, "%s: out of memory", store->path);
}

/** Sets the error for a row with an invalid value; @p row names it: "a bucket". Returns
 * -EUCLEAN. */
static inline int sql_invalid(const struct store *store, const char *row, struct error *error)
{
    return error_set(error, -EUCLEAN, "%s: %s that vmwss has not written", store->path, row);
}
