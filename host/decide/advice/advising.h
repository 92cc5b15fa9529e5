// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file advising.h  Reads the input of a decision from the history, and from libvirt if asked; and
 * replays the past. */
#pragma once

#include "decide/advice/advice.h"
#include "guest/domain/domain_memory.h"

/** A guest whose last record is older has most likely ended, unless it is measured less often. */
#define ADVISING_RECENT_S 3600

struct advising {
    struct decide_windows windows;
    uint64_t reserved_bytes; /* the reservation of the guest that is replayed */
    double day_min_s;        /* records of the past without which a replay takes nothing */
    /* called for each replayed minute in which the guest was short of memory; NULL: for none */
    void (*see_short)(int64_t start_s, void *context);
    void *context;
    double now_s;
    struct decide_day *day;   /* of one guest after the other */
    struct kept_sample *kept; /* reused for each guest */
    struct agent_last_report *last_report;
    char *lines;                  /* from an agent */
    struct domain_memory *memory; /* from libvirt */
    size_t n_memory;
};

/** The caller has set the windows. @p uri: libvirt's URI; NULL: do not ask libvirt. Call
 * advising_end() even after an error. */
int advising_begin(struct advising *advising, const char *uri, struct error *error);
void advising_end(struct advising *advising);

/** Returns 1; 0 if the guest has no record; or an error of the history. */
int advising_make(struct advising *advising, struct store *store, const struct history_guest *guest,
                  struct advice *advice, struct error *error);

/** The span of the backtest that may veto, and what of the past a guest must have until it takes
 * anything. */
#define ADVISING_BACKTEST_S (7 * 86400.0)
#define ADVISING_DAY_S 86400.0

/** Replays the last week, and decides again with what that shows. Errors as advising_replay(). */
int advising_test(struct advising *advising, struct store *store, struct advice *advice,
                  struct error *error);

/** Replays the minutes of the last @p span_s seconds, of which there may be none. Returns 0, or an
 * error of the history. */
int advising_replay(struct advising *advising, struct store *store,
                    const struct history_guest *guest, double span_s, struct replayed *out,
                    struct error *error);
