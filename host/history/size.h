// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file size.h  Limits the size of the history. Deletes the oldest rows first: records before
 * minutes, minutes before hours. */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct store;

/**
 * Deletes the oldest rows until the database takes at most @p max_bytes, but at most a bounded
 * number of rows per call, and returns pages to the file system. The WAL has its own limit (wal.h).
 * @return
 * 0, or as store_add(); the next call continues unfinished work
 */
int size_fit(struct store *store, uint64_t max_bytes, struct error *error);
