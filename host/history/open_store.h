// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file open_store.h  What the files of this room know of an open database (store.h). */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct adding; /* add.c's: statements, kept from one call to the next; NULL: none are prepared */

void adding_free(struct adding *adding);

struct store {
    sqlite3 *db;
    char *path;
    struct adding *adding;
    char notice[640];
    bool left_open;
    /* wal.c */
    uint64_t wal_held_pages; /* of the WAL, when a reader holds it up */
    uint64_t wal_max_bytes;
    int64_t page_bytes;
    /* store_maintain(): has the clock jumped? */
    bool clock_seen;
    double clock_offset_s; /* wall clock less the steady one */
    double settled_at_s;   /* on the steady one */
    /* host_need_sum(): up to which minute it has added up, 0: not known yet, and up to which no
     * record can reach back any more; and how long the records that were added stand for at
     * most. */
    int64_t summed_s, final_s;
    double longest_period_s;
};
