// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file publisher.h  The one thread that writes guests' working sets into libvirt's metadata.
 *
 * Scans of guests never wait for libvirt: they leave a copy of records that are worth publishing
 * (publish.h), and the thread writes the newest one of each guest, at most once in
 * PUBLISH_INTERVAL_S. It has its own read-write connections, opened when there is something to
 * write; the connections that follow events stay read-only, and a write that waits does not delay
 * them.
 *
 * It removes what it has written when publishing is switched off, when a connection is given up,
 * and at the end. After kill -9 elements stay until their guests end; the time in them shows their
 * age, and the next vmwssd that publishes overwrites or removes them.
 */
#pragma once

#include "base/error.h"
#include "measure/record/sample_record.h"

#define PUBLISHER_MAX_SOURCES 64

struct publisher; /* opaque */

/** Starts the thread; nothing is published until publisher_switch(). Returns 0 or negative. */
int publisher_start(struct publisher **out, struct error *error);

/** Switches publishing on or off. Returns at once. */
void publisher_switch(struct publisher *publisher, bool on);

/** Assigns the guests of @p source (below PUBLISHER_MAX_SOURCES) to @p uri, which must stay valid.
 * Not wanted: ends this. */
void publisher_source(struct publisher *publisher, unsigned source, const char *uri, bool wanted);

/** Takes a new record; @p precision as in the history. From any thread; never blocks for long. */
void publisher_put(struct publisher *publisher, unsigned source, const struct sample_record *record,
                   double precision);

/** Notes that the guest has ended, or is opened anew: the record published for it no longer counts.
 */
void publisher_forget(struct publisher *publisher, const char *uuid);

/** Starts to end the thread: nothing more is published, and everything is removed. Returns at once.
 */
void publisher_end(struct publisher *publisher);

/** Call it after publisher_end(): returns false if not everything was removed within @p seconds. */
bool publisher_wait(struct publisher *publisher, unsigned seconds);
