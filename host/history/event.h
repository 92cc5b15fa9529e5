// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file event.h Events of a guest, such as start of measuring, suspension and end.
 *
 * Records alone do not distinguish an ended guest from a rarely measured one. The table event has
 * one row for each event; a guest's last event shows whether it has ended. While vmwssd does not
 * run, no events are recorded.
 */
#pragma once

#include "history/history.h"

enum event_kind {
    EVENT_START,   /* measuring of its QEMU process starts */
    EVENT_SUSPEND, /* the guest is suspended, and has no records until it resumes */
    EVENT_RESUME,
    EVENT_RESIZE,  /* memory was plugged or unplugged: a new panel */
    EVENT_UNWATCH, /* the guest still runs, but its libvirt connection is no longer followed */
    EVENT_END,     /* its QEMU process has ended, or moved to another libvirt */
    /* the guest waits for memory, according to its agent's PSI trigger: PSI some for at least 10 %
     * of the trigger's window, or PSI full for at least 1 %. Only the last such event is kept */
    EVENT_STALL,
    /* The cause of a start or an end, in addition to that event: */
    EVENT_MIGRATE_IN,
    EVENT_MIGRATE_OUT,
    EVENT_SAVE,
    EVENT_RESTORE,
    EVENT_OTHER, /* written by a later version or another program, never by us */
};

/** The kinds that show whether the guest runs, for SQL: EVENT_START to EVENT_END. */
#define EVENT_RUN_KINDS "('start', 'suspend', 'resume', 'resize', 'unwatch', 'end')"

/** Returns "start", "suspend", ... as in the table. */
const char *event_kind_name(enum event_kind kind);

struct store_event {
    char host[256];
    char uuid[37];
    enum event_kind kind;
    double time_s; /* Unix time */
};

/** Adds an event. @return 0; 1: nothing was added, because the guest has no record yet; errors as
 * store_add(). */
int store_add_event(struct store *store, const struct store_event *event, struct error *error);

/**
 * Finds the guest's last event up to @p to_s (Unix time) of the kinds EVENT_START to EVENT_END,
 * which show whether it runs.
 * @return 1: *kind and *time_s (Unix time) are set; 0: there is no event; negative errno
 */
int history_last_event(struct store *store, int64_t guest_id, double to_s, enum event_kind *kind,
                       double *time_s, struct error *error);

/** Calls @p see with the guest's events in the query's span, in the order of time. If @p see
 * returns nonzero, the walk ends and returns that value. */
int history_events(struct store *store, int64_t guest_id, const struct history_query *query,
                   int (*see)(enum event_kind kind, double time_s, void *context), void *context,
                   struct error *error);

/**
 * Finds out whether the guest has ended by @p to_s.
 * @return 1: its last event is its end, at *ended_s (Unix time); 0: it has not ended, or that is
 *         not known; negative errno
 */
int history_ended(struct store *store, int64_t guest_id, double to_s, double *ended_s,
                  struct error *error);

/** Calls @p see with the UUID of each guest that stalled at @p since_s (Unix time) or later, and
 * the time of the stall. If @p see returns nonzero, the walk ends and returns that value. */
int history_stalls(struct store *store, double since_s,
                   int (*see)(const char *uuid, double time_s, void *context), void *context,
                   struct error *error);
