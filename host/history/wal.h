// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file wal.h  Bounds the WAL of a history that is being written.
 *
 * Theory of operation. Every 1000 pages SQLite copies the WAL back into the database, and when all
 * of it is copied, it reuses the WAL from the start. A reader prevents both, because it needs the
 * state at its begin: until it finishes, each added record makes the WAL some 18 KB longer. From
 * WAL_WARN_BYTES on the log reports it; at WAL_MAX_BYTES no more records are added until the reader
 * ends, so that the WAL cannot fill the disk. Source: https://www.sqlite.org/wal.html, "Avoiding
 * Excessively Large WAL Files".
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

#define WAL_WARN_BYTES (32ULL << 20)
#define WAL_MAX_BYTES (256ULL << 20)

/** Counts the transactions of this connection from now on, and copies their pages back as described
 * above. */
void wal_begin(struct store *store);

/** Copies back all pages that no reader needs. Returns 0, or SQLite's error. */
int wal_checkpoint(struct store *store, struct error *error);

/** See store_wal_held_bytes(). */
uint64_t wal_held_bytes(const struct store *store);

/** Checks whether another record may be added. Returns 0; -EBUSY: the WAL has reached its limit;
 * the message has the remedy. */
int wal_check(struct store *store, struct error *error);
