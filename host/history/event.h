// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file event.h  Events of a guest: its QEMU process started to be measured, was suspended, ended.
 *
 * Records alone do not distinguish a guest that has ended from one that is measured rarely. The
 * table event has one row for each event; a guest's last event shows whether it has ended. There
 * are no events for times at which vmwssd did not run.
 */
#pragma once

#include "history/history.h"

enum event_kind {
    EVENT_START,   /* its QEMU process is measured from now on */
    EVENT_SUSPEND, /* it is suspended, and has no records until it resumes */
    EVENT_RESUME,
    EVENT_RESIZE,  /* memory was plugged or unplugged: a new panel */
    EVENT_UNWATCH, /* it still runs, but its connection is no longer followed */
    EVENT_END,     /* its QEMU process has ended, or moved to another libvirt */
    /* it waits for memory, according to a PSI trigger of its agent: PSI some for 10 % of the
     * trigger's window or more, or PSI full for 1 %. Only the last such event is kept */
    EVENT_STALL,
    /* The cause of a start or an end, beside the event of the start or end itself: */
    EVENT_MIGRATE_IN,
    EVENT_MIGRATE_OUT,
    EVENT_SAVE,
    EVENT_RESTORE,
    EVENT_OTHER, /* written by a later version, or by another program; we never write it */
};

/** The kinds that show whether the guest runs, from EVENT_START to EVENT_END, in SQL. */
#define EVENT_RUN_KINDS "('start', 'suspend', 'resume', 'resize', 'unwatch', 'end')"

/** Returns "start", "suspend", ... as in the table. */
const char *event_kind_name(enum event_kind kind);

struct store_event {
    char host[256];
    char uuid[37];
    enum event_kind kind;
    double time_s; /* Unix time */
};

/** Adds an event. @return 0; 1: the guest has no record yet, and nothing is added; errors as
 * store_add(). */
int store_add_event(struct store *store, const struct store_event *event, struct error *error);

/**
 * Finds the guest's last event up to @p to_s, Unix time, among those that show whether it runs:
 * from EVENT_START to EVENT_END.
 * @return 1: *kind and *time_s (Unix time) are set; 0: there is no
 * event; negative errno
 */
int history_last_event(struct store *store, int64_t guest_id, double to_s, enum event_kind *kind,
                       double *time_s, struct error *error);

/** Calls @p see with the guest's events of the query's span, in the order of time; a nonzero return
 * value of @p see ends the walk and is returned. */
int history_events(struct store *store, int64_t guest_id, const struct history_query *query,
                   int (*see)(enum event_kind kind, double time_s, void *context), void *context,
                   struct error *error);

/**
 * Finds out whether the guest has ended, as of @p to_s.
 * @return 1: its last event is its end, at
 * *ended_s (Unix time); 0: it has not, or that is not known; negative errno
 */
int history_ended(struct store *store, int64_t guest_id, double to_s, double *ended_s,
                  struct error *error);

/** Calls @p see with the UUID of each guest that stalled at @p since_s, Unix time, or later, and
 * the time of the stall; a nonzero return value of @p see ends the walk and is returned. */
int history_stalls(struct store *store, double since_s,
                   int (*see)(const char *uuid, double time_s, void *context), void *context,
                   struct error *error);
