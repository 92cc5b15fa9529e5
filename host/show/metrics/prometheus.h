// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prometheus.h  The history's current data of each guest, in Prometheus's text format.
 *
 * The label "domain" names a guest, for joins with the metrics of libvirt exporters; the label
 * "uuid" is added if names are not unique (current.h); the label "window" is in seconds. All
 * metrics are gauges with the last measurement. Samples have no timestamp;
 * vmwss_last_scan_timestamp_seconds has the time of the measurement. Planners read separate series
 * (planning.h). The metrics are listed in vmwss-metrics(7).
 */
#pragma once

#include "show/metrics/prometheus_balloon.h"

#include <stdio.h>

struct prometheus_options {
    const char *database;
    /* path of vmwss-balloond's journal; NULL, or unreadable: no balloon metrics */
    const char *journal;
    double stale_s; /* how long a guest stays current without a new record */
    /* For planners (planning.h): */
    double plan_window_s;    /* window of a guest's need, for planners */
    uint64_t capacity_bytes; /* memory of this host for guests; 0: not known */
    uint64_t reserve_bytes;  /* part of it to keep free */
};

#define PROMETHEUS_STALE_S 300
#define PROMETHEUS_PLAN_WINDOW_S 60

/** Writes all families. @p database_bytes: size of the history's files. */
void prometheus_write(FILE *out, const struct current *current,
                      const struct balloon_metrics *balloons, uint64_t database_bytes);

/** Opens the history, reads it and closes it. The caller frees *text, which has *size bytes and
 * then a NUL; after an error there is no text. Returns 0, or as history_open(), with the remedy. */
int prometheus_text(const struct prometheus_options *options, char **text, size_t *size,
                    struct error *error);
