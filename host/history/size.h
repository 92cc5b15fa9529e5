// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file size.h  How large the history may become: the oldest goes first, records before minutes
 * before hours. */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct store;

/**
 * Deletes what is oldest until what is left has no more than @p max_bytes, a bounded number of rows
 * at a time, and gives pages back to the file system. The WAL beside it has a bound of its own
 * (wal.h).
 * @return 0, or as store_add(); what was not done is done by the next call
 */
int size_fit(struct store *store, uint64_t max_bytes, struct error *error);
