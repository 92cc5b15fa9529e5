// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file balloon_command.h  The parts of vmwss balloon that have a file of their own. */
#pragma once

#include "decide/advice/from_history.h"
#include "programs/vmwss/kept.h"

struct balloon_options {
    struct kept_choice kept; /* of report */
    struct decide_windows windows;
    const char *journal, *uri;
    uint64_t last;
    double for_s;
    const char *verb, *domain; /* domain; for make-room: the size */
};

/** Restores the balloons that vmwss-balloond set and did not restore, of one guest or all. Returns
 * 0; -EBUSY while it runs; or another error. */
int balloon_release(const struct balloon_options *options, struct error *error);

/** Prints what vmwss-balloond did, or would have done, to each guest within a span: by the journal,
 * and by a replay of the history. */
int balloon_report(const struct balloon_options *options, struct error *error);
