// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file planning.h  Series for a planner of many hosts: `vmwss plan --from URL` reads them, and
 * makes the same plan as from the history itself.
 *
 * Theory of operation. The other metrics are gauges of the last record, and miss changes between
 * two scrapes. So a guest's need is that of the last whole minute, and its size that of the last
 * whole hour, both from the buckets of the history (history/bucket_need.h). Scraping at least once
 * a minute therefore gets every minute, and the planner knows which: a scrape within minute k has
 * the need of minute k - 1. Each series has the label "host" (the host's name in the records), so
 * that joins do not depend on the label "instance"; series of a guest also have "domain" and
 * "uuid".
 *
 * There are three series for the host, and three for each guest. A guest that reports its used
 * memory has one more, and so has a guest that is suspended or not measured (states "suspended",
 * "unwatched", "unmeasured").
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
    double used_bytes;       /* memory in use as reported by the guest; NAN: not known */
    const char *state;       /* "suspended", "unwatched", "unmeasured"; NULL: no such state */
    double need_bytes;       /* need in the last whole minute; NAN: not known */
    double size_bytes;       /* size in the last whole hour; NAN: not known */
    double size_window_s;    /* window of size_bytes */
};

struct planning {
    char host[256];
    double window_s; /* window for need_bytes */
    size_t n;
    struct planning_guest *guests; /* guests that have not ended, ordered by id */
};

/** Reads the guests of the host with the newest record. Skips guests that have ended, and guests
 * without a record in the last hour of the records. Free the result with planning_free(). Returns
 * 0, or an error of the history. */
int planning_read(struct store *store, double now_s, double window_s, struct planning *planning,
                  struct error *error);

/** Reads the guests' needs and sizes as of @p now_s, Unix time. Returns 0, or an error of the
 * history. */
int planning_values(struct store *store, double now_s, struct planning *planning,
                    struct error *error);

void planning_free(struct planning *planning);

/** Writes the families. @p capacity_bytes: the host's memory for guests (0: not known); @p
 * reserve_bytes: the part of it to keep free. */
void planning_write(FILE *out, const struct planning *planning, uint64_t capacity_bytes,
                    uint64_t reserve_bytes);
