// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file planning.h  What a planner of many hosts needs of this one, in few series of their own:
 * `vmwss plan --from URL` reads them, and plans the same as from the history itself.
 *
 * Theory of operation. Gauges of the last record, as the other metrics are, miss what lies between
 * two scrapes. So a guest's need is that of the last whole minute, its size that of the last whole
 * hour, both from the buckets of the history (history/bucket_need.h): a scrape at least once a
 * minute has every minute, whatever the phase, and knows which: a scrape within minute k has minute
 * k - 1. Each series has the label "host", the name in the records, so that joins do not depend on
 * what "instance" is elsewhere, and those of a guest "domain" and "uuid".
 *
 * Three series of a host, and three of each guest; one more where it reports what it uses, and
 * where it is suspended, not watched or not measured.
 */
#pragma once

#include "history/history.h"

#include <stdio.h>

struct planning_guest {
    int64_t id; /* in the history */
    char name[256];
    char uuid[37];
    uint64_t ram_bytes;
    double period_s, last_s; /* of its last record; Unix time */
    double used_bytes;       /* in use as the guest says; NAN: not known */
    const char *state;       /* "suspended", "unwatched", "unmeasured"; NULL: none of them */
    double need_bytes;       /* in the last whole minute; NAN: not known */
    double size_bytes;       /* in the last whole hour; NAN: not known, */
    double size_window_s;    /* with that window */
};

struct planning {
    char host[256];
    double window_s; /* of the needs */
    size_t n;
    struct planning_guest *guests; /* by id; those that have not ended */
};

/** Who is there: the guests of the host of the newest record that have not ended, but for those
 * without a record for an hour while others have some. Free it with planning_free(). 0, or as the
 * history. */
int planning_read(struct store *store, double now_s, double window_s, struct planning *planning,
                  struct error *error);

/** Their needs and sizes as of @p now_s, Unix time. 0, or as the history. */
int planning_values(struct store *store, double now_s, struct planning *planning,
                    struct error *error);

void planning_free(struct planning *planning);

/** Writes the families. @p capacity_bytes: memory of the host for guests, 0: not known; @p
 * reserve_bytes: of it, kept free. */
void planning_write(FILE *out, const struct planning *planning, uint64_t capacity_bytes,
                    uint64_t reserve_bytes);
