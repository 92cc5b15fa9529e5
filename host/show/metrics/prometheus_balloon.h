// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prometheus_balloon.h  Metrics of vmwss-balloond's decisions, from its journal.
 *
 * They cover guests with recent numbers in the history, by their UUIDs: the journal does not know
 * which guests still run. A decision is added to the journal only if it differs from the guest's
 * last one, so a guest's values are as of that decision.
 */
#pragma once

#include "decide/journal/journal.h"
#include "show/metrics/current.h"

#include <stdio.h>

/** Decisions are counted over this time. */
#define BALLOON_COUNTED_S 3600
/** Maximum age of the host's level: three times JOURNAL_HOST_S. If vmwss-balloond does not run, the
 * level is not known. */
#define BALLOON_HOST_MAX_S 180.0

struct balloon_metrics {
    size_t n;
    struct journal_entry *entries; /* last entry of each guest */
    size_t n_counts;
    struct journal_count *counts; /* counts over the last BALLOON_COUNTED_S */
    struct journal_host host;     /* time_s 0: not known, or too old */
};

/** Reads the journal at @p path. A missing journal is not an error: then there is nothing to write.
 * Free the result with balloon_metrics_free(), whatever is returned. Returns 0, or as
 * journal_latest(). */
int balloon_metrics_read(struct balloon_metrics *metrics, const char *path, double now_s,
                         struct error *error);
void balloon_metrics_free(struct balloon_metrics *metrics);

/** Writes the families; writes nothing if no journal was read. */
void prometheus_write_balloons(FILE *out, const struct balloon_metrics *metrics,
                               const struct current *current);
