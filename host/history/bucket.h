// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file bucket.h  The summary of a guest's records of one minute or one hour, which outlives the
 * records.
 *
 * Means are weighted by period, so that they are means over time. The bucket of an hour equals the
 * merge of its minutes; merging loses only the order in time. Quantiles are as accurate as a sketch
 * (measure/estimate/sketch.h: 1 %).
 */
#pragma once

#include "measure/estimate/sketch.h"
#include "measure/record/field.h"

#include <stdbool.h>

#define BUCKET_MINUTE 60
#define BUCKET_HOUR 3600
#define SAME_S 0.0005 /* windows that differ by less are equal */

struct bucket_window {
    double window_s;
    double est_window_s;           /* mean */
    uint64_t records;              /* records that answered the window */
    double wss, wss_low, wss_high; /* bytes, means */
    /* sketch of the WSS, weighted by ms; has the exact minimum and maximum */
    struct sketch sketch;
};

struct bucket {
    uint64_t records;
    uint64_t period_ms; /* sum of the records' periods */
    uint64_t resident_max_bytes;
    struct record_summary summary;                 /* summary of the records' other fields */
    size_t n_windows;                              /* ascending */
    struct bucket_window windows[RUN_MAX_WINDOWS]; /* a megabyte in all: too large for the stack */
};

/** Empties the bucket, but clears only the used parts of its windows. */
void bucket_clear(struct bucket *bucket);

/** Adds a record. A bucket has at most RUN_MAX_WINDOWS different windows; further windows are
 * ignored. */
void bucket_add(struct bucket *bucket, const struct kept_sample *kept);

/** Returns true if both windows are equal to the millisecond. */
bool bucket_same_window(double a_s, double b_s);

/** Returns the window, or NULL. */
const struct bucket_window *bucket_find(const struct bucket *bucket, double window_s);

/** Returns [[window_s, est_window_s, records, mean, low, high, min, max, [bin, ms, bin, ms, ...]],
 * ...] as JSON text, which the caller frees; NULL if out of memory. */
char *bucket_windows_text(const struct bucket *bucket);

/** Parses that text into bucket->windows. @p only: parses only that window; 0: all. Returns
 * -EUCLEAN if the text has another form. */
int bucket_windows_parse(struct bucket *bucket, const char *text, size_t size, double only);
