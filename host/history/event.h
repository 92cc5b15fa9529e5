// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file event.h  What happened to a guest at a moment: its QEMU process began to be watched, stood
 * still, ended.
 *
 * Records alone do not distinguish a guest that has ended from one that is measured seldom. The
 * table event has a row for each event; the last one of a guest shows whether it has ended. A host
 * on which vmwssd did not run at the time has none.
 */
#pragma once

#include "history/history.h"

enum event_kind {
    EVENT_START,   /* its QEMU process is watched from now on */
    EVENT_SUSPEND, /* it stands still, and has no records until it runs on */
    EVENT_RESUME,
    EVENT_RESIZE,  /* memory was plugged or unplugged: a new panel */
    EVENT_UNWATCH, /* it runs on, but its connection is not watched any more */
    EVENT_END,     /* its QEMU process has ended, or moved to another libvirt */
    EVENT_STALL,   /* it waits for memory, by a PSI trigger of its agent: some of it for 10 % of the
                      trigger's window or more, or all of it for 1 %. Only the last one is kept */
    /* How its QEMU process began or ended, beside that it did: */
    EVENT_MIGRATE_IN,
    EVENT_MIGRATE_OUT,
    EVENT_SAVE,
    EVENT_RESTORE,
    EVENT_OTHER, /* of a later version, or of another program: never written */
};

/** Those that say whether the guest runs, from EVENT_START to EVENT_END, in SQL. */
#define EVENT_RUN_KINDS "('start', 'suspend', 'resume', 'resize', 'unwatch', 'end')"

/** "start", "suspend", ... as in the table. */
const char *event_kind_name(enum event_kind kind);

struct store_event {
    char host[256];
    char uuid[37];
    enum event_kind kind;
    double time_s; /* Unix time */
};

/** Adds it. @return 0; 1: the guest has no record yet, and nothing is kept; errors as
 * store_add(). */
int store_add_event(struct store *store, const struct store_event *event, struct error *error);

/**
 * The guest's last event up to @p to_s, Unix time, of those that say whether it runs: from
 * EVENT_START to EVENT_END.
 * @return 1: *kind and *time_s (Unix time) are set; 0: none is kept; negative errno
 */
int history_last_event(struct store *store, int64_t guest_id, double to_s, enum event_kind *kind,
                       double *time_s, struct error *error);

/** Calls @p see with the guest's events from @p from_s to @p to_s, Unix time, in the order of time;
 * what it returns, if not 0, ends the walk and is returned. */
int history_events(struct store *store, int64_t guest_id, double from_s, double to_s,
                   int (*see)(enum event_kind kind, double time_s, void *context), void *context,
                   struct error *error);

/**
 * Has the guest ended, as of @p to_s?
 * @return 1: its last event is its end, at *ended_s (Unix time); 0: no, or it is not known;
 * negative errno
 */
int history_ended(struct store *store, int64_t guest_id, double to_s, double *ended_s,
                  struct error *error);

/** Calls @p see with the UUID of each guest that stalled at @p since_s, Unix time, or later, and
 * when; what it returns, if not 0, ends the walk and is returned. */
int history_stalls(struct store *store, double since_s,
                   int (*see)(const char *uuid, double time_s, void *context), void *context,
                   struct error *error);
