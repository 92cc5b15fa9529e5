// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file rows.h  The rows of `vmwss top`: the last record of each guest, sorted. Does not draw. */
#pragma once

#include "history/history.h"

/** Number of windows with a column: the shortest, a middle one, the longest. */
#define ROWS_MAX_WINDOWS 3

enum row_key {
    ROW_BY_NAME,
    ROW_BY_RAM,
    ROW_BY_RESIDENT,
    ROW_BY_WSS,   /* WSS at the shortest window */
    ROW_BY_SHARE, /* that WSS as a share of the guest's RAM */
    ROW_BY_BACK,  /* memory that could be given back */
    ROW_BY_AGE,
    ROW_N_KEYS
};

/** "name", "RAM", ... */
const char *row_key_name(enum row_key key);

struct rows {
    size_t n;
    struct kept_sample *at; /* in the order set by the last rows_sort() */
};

/** The guests to show. */
struct rows_filter {
    char **patterns; /* shell patterns (glob(7)) for names, or UUIDs */
    int n_patterns;  /* 0: show all */
    /* only guests that touch more than this share of their RAM within the shortest window; 0: all,
     * including guests without a window */
    double above;
};

/** Adds a guest, or replaces its record. Returns 0 or -ENOMEM. */
int rows_put(struct rows *rows, const struct kept_sample *kept);

bool rows_wants(const struct rows_filter *filter, const struct kept_sample *kept);

/** Adds or replaces the record of a guest that the filter accepts; removes a guest that the filter
 * no longer accepts. */
int rows_put_wanted(struct rows *rows, const struct rows_filter *filter,
                    const struct kept_sample *kept);
void rows_free(struct rows *rows);

/** Sorts names ascending and everything else descending, unless @p reverse. Guests that are no
 * longer measured come last. */
void rows_sort(struct rows *rows, enum row_key key, bool reverse, double now_s);

/** Lists the windows of the guest with the most windows; returns their number, up to
 * ROWS_MAX_WINDOWS.
 */
size_t rows_windows(const struct rows *rows, double window_s[ROWS_MAX_WINDOWS]);

/** Returns the index of the guest with that UUID among the first @p n_shown; rows->n if it is not
 * there. */
size_t rows_find(const struct rows *rows, size_t n_shown, const char *uuid);
