// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file current.h  The guests with recent numbers in the history, each with a unique name.
 *
 * A guest is current until its end is in the history (history/event.h). A guest that is suspended,
 * or that vmwssd no longer measures, gets no more records. It is current as long as its last record
 * is not older than a given time or CURRENT_PERIODS of its own periods, whichever is longer.
 *
 * Guests are identified by UUID, but scrapes by name. If two rows have the same UUID, as after the
 * host was renamed, the newer one is used. All guests that share a name (guests of two libvirt
 * connections may) are marked, so that each gets a UUID label. Otherwise a query could join one
 * guest's metrics with another exporter's metrics of the other guest.
 */
#pragma once

#include "history/writes.h"

#define CURRENT_PERIODS 5
/** A write working set is measured seldom, and shown for so long. */
#define CURRENT_WRITES_S 86400.0

struct current_guest {
    struct kept_sample kept;
    struct kept_writes writes; /* the last ones */
    bool shares_name;          /* another current guest has the same name */
};

struct current {
    size_t n;                     /* ordered by name, then UUID */
    struct current_guest *guests; /* all its texts are UTF-8 */
    size_t n_known;               /* number of guests with a record, current or not */
    /* Unix time of the newest record of any guest; 0: there is no record */
    double newest_s;
};

/** Reads the current guests. @p now_s: Unix time; @p stale_s: see above. Free the result with
 * current_free(). Returns 0, or as history_latest(). */
int current_read(struct store *store, double now_s, double stale_s, struct current *current,
                 struct error *error);
void current_free(struct current *current);
