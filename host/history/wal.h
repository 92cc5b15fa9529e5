// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file wal.h  Bounds the WAL of a history that is being written.
 *
 * Theory of operation. SQLite copies the WAL back into the database every 1000 pages, and begins it
 * again once all of it is there. A reader holds up both, because it must go on seeing the state
 * that it began to read: until it finishes, each added record makes the WAL longer (some 18 KB for
 * a record). From WAL_WARN_BYTES on the log reports it; at WAL_MAX_BYTES no more records are added
 * until the reader ends, so that the WAL cannot fill the disk. Source:
 * https://www.sqlite.org/wal.html, "Avoiding Excessively Large WAL Files".
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

#define WAL_WARN_BYTES (32ULL << 20)
#define WAL_MAX_BYTES (256ULL << 20)

/** Starts counting the transactions of this connection, and copying them back as above. */
void wal_begin(struct store *store);

/** Copies back all that no reader holds up. Returns 0, or SQLite's error. */
int wal_checkpoint(struct store *store, struct error *error);

/** See store_wal_held_bytes(). */
uint64_t wal_held_bytes(const struct store *store);

/** Checks whether another record may be added. Returns 0; -EBUSY: the WAL has reached its limit;
 * the message gives the remedy. */
int wal_check(struct store *store, struct error *error);
