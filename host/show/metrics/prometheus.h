// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prometheus.h  What the history has of each guest now, as Prometheus's text format.
 *
 * Every guest is the label "domain", which joins with the exporters for libvirt, and also "uuid"
 * where names are not unique (current.h); a window is the label "window", in seconds. Everything is
 * a gauge: what was measured last. No sample has a time of its own;
 * vmwss_last_scan_timestamp_seconds says when. What planners read stands
 * beside it, in series of its own (planning.h). The metrics are listed in vmwss-exporter(8).
 */
#pragma once

#include "show/metrics/prometheus_balloon.h"

#include <stdio.h>

struct prometheus_options {
    const char *database;
    const char
        *journal;   /* of vmwss-balloond; without it, or if it cannot be read, it has no families */
    double stale_s; /* how long a guest stays without a new record */
    /* For planners (planning.h): */
    double plan_window_s;    /* of a guest's need */
    uint64_t capacity_bytes; /* memory of this host for guests; 0: not known */
    uint64_t reserve_bytes;  /* of it, kept free */
};

#define PROMETHEUS_STALE_S 300
#define PROMETHEUS_PLAN_WINDOW_S 60

/** Writes all families. @p database_bytes: how large its files are. */
void prometheus_write(FILE *out, const struct current *current,
                      const struct balloon_metrics *balloons, uint64_t database_bytes);

/** Opens the history, reads it, closes it. *text is the caller's to free, of *size bytes and a NUL
 * that is not counted; there is none after an error. 0, or as history_open(), with the remedy. */
int prometheus_text(const struct prometheus_options *options, char **text, size_t *size,
                    struct error *error);
