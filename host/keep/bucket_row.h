// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file bucket_row.h  A bucket as a row of the table bucket. */
#pragma once

#include "keep/bucket.h"

#include <sqlite3.h>

#define BUCKET_COLUMNS                                                                       \
    "records, period_ms, ram_bytes, resident_max_bytes, resident_bytes, unmeasurable_bytes," \
    " vcpu_s, cpu_s, paused_s, precision, method, flags, windows"
#define BUCKET_N_COLUMNS 13

/** Parameters 1 .. BUCKET_N_COLUMNS; the texts must outlive the step. */
void bucket_row_bind(sqlite3_stmt *statement, const struct bucket *bucket, const char *windows);

/** From the columns that begin at @p first. @p only: as bucket_windows_parse(). -EUCLEAN */
int bucket_row_read(sqlite3_stmt *statement, int first, struct bucket *bucket, double only);
