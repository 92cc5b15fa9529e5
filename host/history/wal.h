// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file wal.h  Keeps the WAL of a history that is written within bounds.
 *
 * Theory of operation. SQLite copies the WAL back into the database every 1000 pages, and begins it
 * again once all of it is there. A reader holds up both, for it must go on seeing what it has begun
 * to read: while one does not finish, each record that is added makes the WAL longer (some 18 KB
 * for a record). From WAL_WARN_BYTES on the log says so; at WAL_MAX_BYTES nothing is added any more
 * until the reader ends, so that it cannot fill the disk. Source: https://www.sqlite.org/wal.html,
 * "Avoiding Excessively Large WAL Files".
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

#define WAL_WARN_BYTES (32ULL << 20)
#define WAL_MAX_BYTES (256ULL << 20)

/** From now on every transaction of this connection is counted, and copied back as above. */
void wal_begin(struct store *store);

/** Copies back what no reader holds up. 0, or SQLite's error. */
int wal_checkpoint(struct store *store, struct error *error);

/** store_wal_held_bytes() */
uint64_t wal_held_bytes(const struct store *store);

/** May another record be added? 0; -EBUSY the WAL is as long as it may become, with the remedy. */
int wal_check(struct store *store, struct error *error);
