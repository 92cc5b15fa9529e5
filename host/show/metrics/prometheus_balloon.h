// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prometheus_balloon.h  Metrics of what vmwss-balloond decided, from its journal.
 *
 * They are of guests that the history has fresh numbers of, by their UUIDs: the journal does not
 * know which guests still run. A decision is journalled when it is another than the guest's last
 * one, so what a guest has is as of then.
 */
#pragma once

#include "decide/journal/journal.h"
#include "show/metrics/current.h"

#include <stdio.h>

/** How long ago what is counted may be. */
#define BALLOON_COUNTED_S 3600
/** How old the host's level may be: three times JOURNAL_HOST_S. A vmwss-balloond that does not run
 * knows none. */
#define BALLOON_HOST_MAX_S 180.0

struct balloon_metrics {
    size_t n;
    struct journal_entry *entries; /* the last of each guest */
    size_t n_counts;
    struct journal_count *counts; /* of the last BALLOON_COUNTED_S */
    struct journal_host host;     /* time_s 0: not known, or too old */
};

/** Reads the journal at @p path. There may be none: then there is nothing to write, and that is no
 * error. Free it with balloon_metrics_free(), whatever it returns. 0, or as journal_latest(). */
int balloon_metrics_read(struct balloon_metrics *metrics, const char *path, double now_s,
                         struct error *error);
void balloon_metrics_free(struct balloon_metrics *metrics);

/** Writes the families; none where nothing was read. */
void prometheus_write_balloons(FILE *out, const struct balloon_metrics *metrics,
                               const struct current *current);
