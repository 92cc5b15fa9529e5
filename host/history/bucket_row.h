// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file bucket_row.h  A bucket as a row of table `bucket`. */
#pragma once

#include "base/error.h"
#include "history/bucket.h"

#include <sqlite3.h>

struct store;

/** Prepares "SELECT @p first, and the bucket's columns, FROM bucket", followed by @p rest. */
int bucket_row_prepare(struct store *store, const char *first, const char *rest,
                       sqlite3_stmt **statement, struct error *error);

/** Prepares a statement that writes a bucket: its columns, then level_s, start_s, guest_id. */
int bucket_row_prepare_write(struct store *store, sqlite3_stmt **statement, struct error *error);

/** Binds the bucket; @p windows must live until after the step. Returns the parameter of
 * level_s. */
int bucket_row_bind(sqlite3_stmt *statement, const struct bucket *bucket, const char *windows);

/** Reads the bucket from the columns that begin at @p first. @p only: as bucket_windows_parse().
 * Returns -EUCLEAN for invalid values. */
int bucket_row_read(sqlite3_stmt *statement, int first, struct bucket *bucket, double only);
