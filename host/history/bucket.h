// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file bucket.h  What is left of a guest's records of one minute or one hour, once they are gone.
 *
 * Means weigh by period, so that they are means over time. A bucket of an hour holds the same as
 * the sum of its minutes: nothing is lost by merging but when something was, and quantiles are as
 * good as a sketch (measure/estimate/sketch.h: 1 %).
 */
#pragma once

#include "measure/estimate/sketch.h"
#include "measure/record/field.h"

#include <stdbool.h>

#define BUCKET_MINUTE 60
#define BUCKET_HOUR 3600

struct bucket_window {
    double window_s;
    double est_window_s;           /* mean */
    uint64_t records;              /* in which it was answered */
    double wss, wss_low, wss_high; /* bytes, means */
    struct sketch sketch;          /* of WSS, weighted by ms; has the exact minimum and maximum */
};

struct bucket {
    uint64_t records;
    uint64_t period_ms; /* in sum */
    uint64_t resident_max_bytes;
    struct record_summary summary;                 /* of what else the records have */
    size_t n_windows;                              /* ascending */
    struct bucket_window windows[RUN_MAX_WINDOWS]; /* a megabyte in all: not for the stack */
};

/** Makes it an empty one, without touching what its windows do not need. */
void bucket_clear(struct bucket *bucket);

/** Puts a record in. Windows beyond RUN_MAX_WINDOWS different ones in one bucket are left out. */
void bucket_add(struct bucket *bucket, const struct kept_sample *kept);

/** Are they the same window? They are given to the millisecond. */
bool bucket_same_window(double a_s, double b_s);

/** The window, or NULL. */
const struct bucket_window *bucket_find(const struct bucket *bucket, double window_s);

/** [[window_s, est_window_s, records, mean, low, high, min, max, [bin, ms, bin, ms, ...]], ...] as
 * JSON text that the caller frees; NULL when out of memory. */
char *bucket_windows_text(const struct bucket *bucket);

/** The way back, into bucket->windows. @p only: that window alone; 0: all. -EUCLEAN when the text
 * is something else. */
int bucket_windows_parse(struct bucket *bucket, const char *text, size_t size, double only);
