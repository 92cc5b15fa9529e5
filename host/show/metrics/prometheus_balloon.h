// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prometheus_balloon.h  Metrics of vmwss-balloond's decisions, from its journal.
 *
 * Only guests with recent numbers in the history have metrics (matched by UUID), because the
 * journal does not show which guests still run. The journal stores a decision only if it differs
 * from the guest's previous one, so a guest's values are those of its last change.
 */
#pragma once

#include "decide/journal/journal.h"
#include "show/metrics/current.h"

#include <stdio.h>

/** Decisions are counted over this time. */
#define BALLOON_COUNTED_S 3600
/** Maximum age of the host's level: three times JOURNAL_HOST_S. It is unknown while vmwss-balloond
 * does not run. */
#define BALLOON_HOST_MAX_S 180.0

struct balloon_metrics {
    size_t n;
    struct journal_entry *entries; /* last entry of each guest */
    size_t n_counts;
    struct journal_count *counts; /* counts of decisions in the last BALLOON_COUNTED_S */
    struct journal_host host;     /* time_s 0: unknown, or too old */
};

/** Reads the journal at @p path. A missing journal is not an error; the metrics are then empty.
 * Call balloon_metrics_free() even after an error. Returns 0, or as journal_latest(). */
int balloon_metrics_read(struct balloon_metrics *metrics, const char *path, double now_s,
                         struct error *error);
void balloon_metrics_free(struct balloon_metrics *metrics);

/** Writes the families, or nothing if no journal was read. */
void prometheus_write_balloons(FILE *out, const struct balloon_metrics *metrics,
                               const struct current *current);
