// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file advising.h  Reads what a decision needs from the history, and from libvirt if asked; and
 * replays the past. */
#pragma once

#include "decide/advice/advice.h"
#include "guest/domain/domain_memory.h"

/** A guest without a record for longer has most likely ended, unless it is measured more seldom. */
#define ADVISING_RECENT_S 3600

struct advising {
    struct decide_windows windows;
    double now_s;
    struct decide_day *day;   /* half a megabyte, for one guest after the other */
    struct kept_sample *kept; /* likewise */
    struct agent_last_report *last_report;
    char *lines;                  /* of an agent */
    struct domain_memory *memory; /* by libvirt */
    size_t n_memory;
};

/** The windows have been set. @p uri: of libvirt; NULL: it is not asked. End it with
 * advising_end(), whatever it returns. */
int advising_begin(struct advising *advising, const char *uri, struct error *error);
void advising_end(struct advising *advising);

/** 1; 0: no record of the guest is kept; or as the history. */
int advising_make(struct advising *advising, struct store *store, const struct history_guest *guest,
                  struct advice *advice, struct error *error);

/** Replays the minutes of the last @p span_s; there may be none. 0, or as the history. */
int advising_replay(struct advising *advising, struct store *store,
                    const struct history_guest *guest, double span_s, struct replayed *out,
                    struct error *error);
