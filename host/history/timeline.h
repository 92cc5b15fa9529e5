// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file timeline.h One guest over time in equal cells, for a chart: its memory, its need, the ages
 * of its memory, and its reports.
 *
 * Theory of operation. A cell consists of whole minutes or hours of the history, so it is never
 * finer than the stored data. Means are weighted by the time that the records cover. The amount of
 * memory with an age between two windows is the difference of their working sets, so it is known if
 * both windows were answered. A record covers the time before it (store.h), so a guest that is
 * measured less than once per cell has no gaps between its records.
 */
#pragma once

#include "history/history.h"

/** Limits for one guest; more does not fit into a chart. */
#define TIMELINE_CELLS 200
#define TIMELINE_WINDOWS 8

/** One cell, in bytes; unknown values are NAN. */
struct timeline_cell {
    bool recorded; /* a record covers this cell */
    /* time until which its last record holds if no other follows */
    double until_s;
    unsigned flags;                 /* the union of its records' flags */
    double ram, resident;           /* last, mean */
    double wss, low, high, wss_max; /* in the chosen window: means, and the maximum */
    double written;                 /* in the chosen window, at least, by the last write curve */
    double has, used;               /* reported by the guest: its total and used memory */
    double psi_some, psi_full;      /* mean share of the time */
    double refault, swap_in;        /* bytes per second */
    /* memory touched within the first window, between the first and the second, ..., and before the
     * last window */
    double ages[TIMELINE_WINDOWS + 1];
};

/** Properties common to all guests of a chart. */
struct timeline_span {
    int level_s;    /* level of the history that is read */
    double cell_s;  /* a multiple of level_s */
    double begin_s; /* start of the first cell, in Unix time */
    size_t n_cells;
    double window_s; /* window of wss in struct timeline_cell */
    size_t n_windows;
    double windows_s[TIMELINE_WINDOWS]; /* windows of the ages, ascending */
};

/** Chooses the cells for a span of time, and the windows of the ages among the history's recent
 * ones. Returns 0, or as history_windows(). */
int timeline_span(struct store *store, double from_s, double to_s, double window_s,
                  struct timeline_span *span, struct error *error);

/** Fills span->n_cells cells. Returns 0, or as history_moments(). */
int timeline_read(struct store *store, const struct history_guest *guest,
                  const struct timeline_span *span, struct timeline_cell *cells,
                  struct error *error);
