// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file timeline.h  One guest over time in equal cells, for a picture: what it had, what it needed,
 * how long ago its memory was touched, and what it reported.
 *
 * Theory of operation. A cell is made of whole minutes or hours of the history, so that it is never
 * finer than what is kept. Means weigh by the time that the records stand for. How much is as old
 * as lies between two windows is the difference of their working sets, so it is known as far as
 * both windows were answered. A record stands for the time before it (store.h), so a guest that is
 * measured less often than once a cell has no gaps between its records.
 */
#pragma once

#include "history/history.h"

/** For one guest; more cannot be distinguished in a picture. */
#define TIMELINE_CELLS 200
#define TIMELINE_WINDOWS 8

/** Bytes; what is not known is NAN. */
struct timeline_cell {
    bool recorded;                     /* a record stands for it */
    double until_s;                    /* its last one stands, if none comes after it */
    unsigned flags;                    /* of any of its records */
    double ram, resident;              /* last, mean */
    double wss, low, high, wss_max;    /* of the window; means, and the largest */
    double has, used;                  /* as the guest reports: its memory, and what it uses */
    double psi_some, psi_full;         /* share of the time */
    double refault, swap_in;           /* bytes per second */
    double ages[TIMELINE_WINDOWS + 1]; /* touched within the first window, between it and the
                                          second, ..., longer ago than the last */
};

/** What is common to all guests of a picture. */
struct timeline_span {
    int level_s;    /* of what it is made of */
    double cell_s;  /* a multiple of it */
    double begin_s; /* of the first cell, Unix time */
    size_t n_cells;
    double window_s; /* of struct timeline_cell's wss */
    size_t n_windows;
    double windows_s[TIMELINE_WINDOWS]; /* of its ages, ascending */
};

/** Chooses the cells for a span of time, and the windows of the ages among those that the history
 * has had of late. 0, or as history_windows(). */
int timeline_span(struct store *store, double from_s, double to_s, double window_s,
                  struct timeline_span *span, struct error *error);

/** Fills span->n_cells cells. 0, or as history_moments(). */
int timeline_read(struct store *store, const struct history_guest *guest,
                  const struct timeline_span *span, struct timeline_cell *cells,
                  struct error *error);
