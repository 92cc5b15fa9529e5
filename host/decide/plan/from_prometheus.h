// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file from_prometheus.h  Reads hosts and guests from a Prometheus HTTP API, as vmwss-exporter
 * serves them for planners (show/metrics/planning.h): a source of from_history.h like a file, but
 * with many hosts.
 *
 * Theory of operation. Every query is for one host and a limited time, so that no answer has more
 * than some 100,000 values, whatever the size of the fleet. A sample scraped within
 * minute k describes minute k - 1, so the range of each query, moved by PROM_LATE_MS, contains
 * exactly the samples of its cell. The largest of them counts. Sizes, in the same way, describe the
 * hour before. If two servers scrape the same host, the larger value counts.
 *
 * Compared with the history itself: the last two minutes and the last hour's size are missing, all
 * hours have equal weight in a guest's size however long it was measured in them, and values that
 * were not scraped are unknown and filled in as in prepare.h.
 */
#pragma once

#include "decide/plan/roster.h"

/** Reads the roster of one source. Returns -ENODATA: a host has guests, but no needs at this
 * window; or an error of prom_query() or plan_read() */
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

/** Reads the needs of the source's guests. Errors as prom_query(); -ENOMEM */
int plan_read_url(const struct url_minutes *minutes, struct error *error);
