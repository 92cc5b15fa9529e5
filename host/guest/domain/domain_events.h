// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain_events.h  Events of changes in the domains of a connection.
 *
 * They come from libvirt's own event loop (virEventRegisterDefaultImpl()), which one thread runs
 * for all connections. Handlers are called in that thread: they must neither block nor call libvirt
 * (libvirt-domain.h).
 */
#pragma once

#include "guest/domain/domain.h"

enum domain_change {
    DOMAIN_CHANGE_STATE,   /* started, stopped, suspended, resumed, migrated, crashed */
    DOMAIN_CHANGE_REBOOT,  /* the guest was reset; its process and its RAM are the same */
    DOMAIN_CHANGE_BALLOON, /* the balloon's new size: bytes */
    DOMAIN_CHANGE_DEVICES, /* a device was plugged or unplugged: perhaps a DIMM */
    DOMAIN_CHANGE_JOB,     /* a migration, save, snapshot or dump is running, or has just ended */
    DOMAIN_CHANGE_CLOSED,  /* the connection is lost; not for a single domain */
};

struct domain_event {
    uint64_t bytes;
    enum domain_change change;
    enum domain_move {
        DOMAIN_STAYS,
        /* migrating to this host; DOMAIN_RUNS_OR_WAITS follows on arrival */
        DOMAIN_ARRIVES,
        DOMAIN_RUNS_OR_WAITS, /* resumed or suspended, by this or for another reason */
        DOMAIN_MIGRATED_OUT,
        DOMAIN_SAVED,
        DOMAIN_RESTORED,
        DOMAIN_STOPPED, /* stopped for another reason */
    } move;             /* how its state changed if it came or went */
    char uuid[37];
    char name[256];
};

typedef void (*domain_event_handler)(const struct domain_event *event, void *context);

struct domain_subscription; /* opaque */

/** Registers libvirt's event loop; call it before the first connection. 0 or -EIO. */
int domain_events_init(struct error *error);

/** Waits for the next event, and handles it. 0 or -EIO. */
int domain_events_run_once(void);

/** If libvirt does not answer for 20 s, lets it close the connection, so that calls waiting for it
 * return. Needs a running event loop. */
void domain_keep_alive(struct domain_connection *connection);

/**
 * Subscribes to the events of @p connection, including its loss, with domain_keep_alive().
 * @param context  must live as long as the process: a handler may still run when unsubscribe
 *                 returns
 * @return 0; -EIO with libvirt's message
 */
int domain_events_subscribe(struct domain_connection *connection, domain_event_handler handler,
                            void *context, struct domain_subscription **out, struct error *error);

/** Ends the subscription; call it before domain_disconnect(). NULL is allowed. */
void domain_events_unsubscribe(struct domain_subscription *subscription);
