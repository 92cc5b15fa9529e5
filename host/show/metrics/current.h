// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file current.h  The guests that the history has fresh numbers of, each by a name that no other
 * of them has.
 *
 * A guest is current until its end is in the history (history/event.h). Of one that stands still,
 * or that vmwssd does not watch any more, no more records come: so it is current no longer than its
 * last record is not older than a given time, nor than CURRENT_PERIODS of its own periods, if that
 * is longer.
 *
 * Guests are distinguished by UUID, and a scrape by name. Of two rows with the same UUID, as after
 * the host was renamed, the newer one counts. Guests that share a name, as those of two connections
 * may, are all marked, so that each can be given its UUID beside its name; were the name of one of
 * them left alone, it would join with the other's in another exporter's metrics.
 */
#pragma once

#include "history/history.h"

#define CURRENT_PERIODS 5

struct current_guest {
    struct kept_sample kept;
    bool shares_name; /* another current guest is called the same */
};

struct current {
    size_t n;                     /* by name, then UUID */
    struct current_guest *guests; /* their texts are UTF-8 */
    size_t n_known;               /* guests with a record, current or not */
    double newest_s;              /* of the last record of any guest, Unix time; 0: there is none */
};

/** Reads them. @p now_s: Unix time; @p stale_s: see above. Free it with current_free(). 0, or as
 * history_latest(). */
int current_read(struct store *store, double now_s, double stale_s, struct current *current,
                 struct error *error);
void current_free(struct current *current);
