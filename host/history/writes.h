// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file writes.h  Reads write working sets from the history. vmwssd measures them seldom, so they
 * are in a table of their own, and kept as long as minutes. */
#pragma once

#include "history/history.h"

struct kept_writes {
    double time_s; /* Unix time of the record that came next; 0: there is no curve */
    struct write_curve curve;
};

/** Calls @p see with the guest's curves from query->from_s to query->to_s, in the order of time. If
 * @p see returns nonzero, the walk ends and returns that value. -EUCLEAN: a row that vmwss has not
 * written. */
int history_writes(struct store *store, int64_t guest_id, const struct history_query *query,
                   int (*see)(const struct kept_writes *writes, void *context), void *context,
                   struct error *error);

/** Reads the last curve of the guest with this host and UUID, not older than @p since_s (Unix
 * time). Returns 1; 0: there is none, and *writes is zeroed; errors as history_writes(). */
int history_latest_writes(struct store *store, const char *host, const char *uuid, double since_s,
                          struct kept_writes *writes, struct error *error);
