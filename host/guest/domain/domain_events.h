// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain_events.h  What changes in the domains of a connection, as it happens.
 *
 * libvirt's own event loop (virEventRegisterDefaultImpl()), which one thread runs for all
 * connections. Handlers are called in that thread: they must neither block nor call libvirt
 * (libvirt-domain.h).
 */
#pragma once

#include "guest/domain/domain.h"

enum domain_change {
    DOMAIN_CHANGE_STATE,   /* started, stopped, suspended, resumed, migrated, crashed */
    DOMAIN_CHANGE_REBOOT,  /* the guest was reset; its process and its RAM are the same */
    DOMAIN_CHANGE_BALLOON, /* its size now: bytes */
    DOMAIN_CHANGE_DEVICES, /* plugged or unplugged: perhaps a DIMM */
    DOMAIN_CHANGE_JOB,     /* a migration, save, snapshot or dump goes on, or has just ended */
    DOMAIN_CHANGE_CLOSED,  /* the connection is lost; no domain */
};

struct domain_event {
    uint64_t bytes;
    enum domain_change change;
    enum domain_move {
        DOMAIN_STAYS,
        DOMAIN_ARRIVES,       /* is being migrated here; DOMAIN_RUNS_OR_WAITS when it has come */
        DOMAIN_RUNS_OR_WAITS, /* was resumed or suspended, for this or another reason */
        DOMAIN_MIGRATED_OUT,
        DOMAIN_SAVED,
        DOMAIN_RESTORED,
        DOMAIN_STOPPED, /* for another reason than these */
    } move;             /* how its state changed, as far as it came from or went elsewhere */
    char uuid[37];
    char name[256];
};

typedef void (*domain_event_handler)(const struct domain_event *event, void *context);

struct domain_subscription; /* opaque */

/** Registers libvirt's event loop; before the first connection. 0 or -EIO. */
int domain_events_init(struct error *error);

/** Waits for the next thing to happen, and handles it. 0 or -EIO. */
int domain_events_run_once(void);

/** From now on the connection is closed by libvirt, and calls that wait for it return, when it
 * answers nothing for 20 s.
 *  Needs the event loop to run. */
void domain_keep_alive(struct domain_connection *connection);

/**
 * Asks for the events of @p connection, and for its end; it is kept alive as above.
 * @param context  must live as long as the process: a handler may still run when unsubscribe
 *                 returns
 * @return 0; -EIO with libvirt's words
 */
int domain_events_subscribe(struct domain_connection *connection, domain_event_handler handler,
                            void *context, struct domain_subscription **out, struct error *error);

/** Before domain_disconnect(). NULL is allowed. */
void domain_events_unsubscribe(struct domain_subscription *subscription);
