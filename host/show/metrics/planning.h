// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file planning.h  Series for a planner of many hosts: `vmwss plan --from URL` reads them, and
 * makes the same plan as from the history itself.
 *
 * Theory of operation. The other metrics are gauges of the last record, and miss changes between
 * two scrapes. So a guest's need is that of the last whole minute, and its size that of the last
 * whole hour, both from the buckets of the history (history/bucket_need.h). Scraping at least once
 * a minute gets every minute, whatever the phase, and the minute is known: a scrape within minute k
 * has minute k - 1. Each series has the label "host", the name in the records, so that joins do not
 * depend on the label "instance"; series of a guest also have "domain" and "uuid".
 *
 * There are three series for the host, and three for each guest; one more if the guest reports its
 * memory in use, and one if it is suspended or not measured (states "suspended", "unwatched",
 * "unmeasured").
 */
#pragma once

#include "history/history.h"

#include <stdio.h>

struct planning_guest {
    int64_t id; /* ID in the history */
    char name[256];
    char uuid[37];
    double ram_bytes;
    double period_s, last_s; /* period and time of its last record; Unix time */
    double used_bytes;       /* memory in use, as the guest reports it; NAN: not known */
    const char *state;       /* "suspended", "unwatched", "unmeasured"; NULL: no such state */
    double need_bytes;       /* in the last whole minute; NAN: not known */
    double size_bytes;       /* in the last whole hour; NAN: not known, */
    double size_window_s;    /* at this window */
};

struct planning {
    char host[256];
    double window_s; /* window of the needs */
    size_t n;
    struct planning_guest *guests; /* ordered by id; guests that have not ended */
};

/** Reads the guests of the host with the newest record. Left out are guests that have ended, and
 * guests without a record for an hour while others have some. Free the result with
 * planning_free(). Returns 0, or an error of the history. */
int planning_read(struct store *store, double now_s, double window_s, struct planning *planning,
                  struct error *error);

/** Reads their needs and sizes as of @p now_s, Unix time. Returns 0, or an error of the history. */
int planning_values(struct store *store, double now_s, struct planning *planning,
                    struct error *error);

void planning_free(struct planning *planning);

/** Writes the families. @p capacity_bytes: the host's memory for guests, 0: not known; @p
 * reserve_bytes: the part of it that is kept free. */
void planning_write(FILE *out, const struct planning *planning, uint64_t capacity_bytes,
                    uint64_t reserve_bytes);
