// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file rows.h  What `vmwss top` shows: the last record of each guest, in some order. Nothing here
 * draws. */
#pragma once

#include "history/history.h"

/** So many windows have a column: the shortest, one between, the longest. */
#define ROWS_MAX_WINDOWS 3

enum row_key {
    ROW_BY_NAME,
    ROW_BY_RAM,
    ROW_BY_RESIDENT,
    ROW_BY_WSS,   /* over the shortest window */
    ROW_BY_SHARE, /* of that in its RAM */
    ROW_BY_BACK,  /* what could be given back */
    ROW_BY_AGE,
    ROW_N_KEYS
};

/** "name", "RAM", ... */
const char *row_key_name(enum row_key key);

struct rows {
    size_t n;
    struct kept_sample *at; /* in the order of rows_sort() */
};

/** Which guests are wanted. */
struct rows_filter {
    char **patterns; /* of names, as of the shell (glob(7)); or UUIDs */
    int n_patterns;  /* 0: all */
    double above;    /* only those of whose RAM more than this share is touched within the shortest
                        window; 0: all, also those without a window */
};

/** Adds a guest, or replaces its record. 0 or -ENOMEM. */
int rows_put(struct rows *rows, const struct kept_sample *kept);

bool rows_wants(const struct rows_filter *filter, const struct kept_sample *kept);

/** The same of those that the filter wants; one that it wants no more goes. */
int rows_put_wanted(struct rows *rows, const struct rows_filter *filter,
                    const struct kept_sample *kept);
void rows_free(struct rows *rows);

/** Names ascend, everything else descends, unless @p reverse. Guests that are not measured any more
 * come last. */
void rows_sort(struct rows *rows, enum row_key key, bool reverse, double now_s);

/** The windows of the guest that has the most; their number, up to ROWS_MAX_WINDOWS. */
size_t rows_windows(const struct rows *rows, double window_s[ROWS_MAX_WINDOWS]);

/** Where the guest of that UUID is among the first @p n_shown; rows->n: it is not. */
size_t rows_find(const struct rows *rows, size_t n_shown, const char *uuid);
