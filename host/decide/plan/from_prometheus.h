// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file from_prometheus.h  Hosts and guests as a Prometheus HTTP API has them of what
 * vmwss-exporter serves for planners (show/metrics/planning.h): a source of from_history.h like a
 * file, but of many hosts.
 *
 * Theory of operation. Everything is asked host by host, and in pieces of time, so that no answer
 * has more than some 100,000 values, whatever the size of the fleet. Needs are asked at the ends of
 * the cells of the fleet less a millisecond: what was scraped within minute k is of minute k - 1,
 * so the range of each query has just the samples that are of its cell. The largest of them counts.
 * Sizes, likewise, are of the hour before. Of two servers that scrape the same host the larger
 * value counts.
 *
 * Compared with the history itself: the last two minutes and the last hour's size are not there
 * yet, hours weigh the same in a guest's size however long it was measured in them, and what was
 * not scraped is not known, and filled in as in prepare.h.
 */
#pragma once

#include "decide/plan/roster.h"

/** The roster of one source. -ENODATA: a host has guests, but no needs at this window; or as
 * prom_query(), and as plan_read() */
int roster_read_url(struct roster *roster, const struct plan_reading *reading, size_t source,
                    struct error *error);

struct url_minutes {
    const struct plan_reading *reading;
    const struct roster *roster;
    struct plan_fleet *fleet;
    size_t source;
    void (*progress)(double done, void *context); /* 0 .. 1, of this source */
    void *context;
};

/** The needs of its guests. Errors as prom_query(); -ENOMEM; -EAGAIN: no thread. */
int plan_read_url(const struct url_minutes *minutes, struct error *error);
