// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_guests.h  The guests of one host while it is read from a URL. */
#pragma once

#include "decide/plan/roster.h"

struct url_guest {
    char uuid[37];
    struct roster_row row;
    float *sizes; /* size for each hour, bytes, at row.size_window_s */
    size_t n_sizes;
    bool there; /* present in the last scrape */
};

/** Starts as all zero; elements move when another one is added. */
struct url_guests {
    struct url_guest *all;
    size_t n;
    size_t n_sorted; /* the first n_sorted elements are sorted by UUID */
};

/** Returns NULL if there is no such guest. */
struct url_guest *url_guests_find(const struct url_guests *guests, const char *uuid);

/** Adds a guest; the caller sorts before many more are added. Returns NULL if out of memory. */
struct url_guest *url_guests_add(struct url_guests *guests, size_t source, const char *uuid);

void url_guests_sort(struct url_guests *guests);

/** Returns the p99 of its sizes, for a guest that is there at most its RAM; 0: it has none. Orders
 * them. */
double url_guest_size_p99(const struct url_guest *guest);
