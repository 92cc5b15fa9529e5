// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file publisher.h  The one thread that writes guests' working sets into libvirt's metadata.
 *
 * Scans of guests never wait for libvirt: they leave a copy of what is worth telling (publish.h),
 * and the thread writes the newest of each guest, at most once in PUBLISH_INTERVAL_S. It has
 * read-write connections of its own, opened when there is something to write; those that follow
 * events stay read-only, and are not held up by a write that waits.
 *
 * What it wrote it removes: when publishing is switched off, when a connection is given up, and at
 * the end. After kill -9 elements stay until their guests end; the time in them says how old they
 * are, and the next vmwssd that publishes overwrites or removes them.
 */
#pragma once

#include "base/error.h"
#include "measure/record/sample_record.h"

#define PUBLISHER_MAX_SOURCES 64

struct publisher; /* opaque */

/** Starts the thread; nothing is published until publisher_switch(). 0 or negative. */
int publisher_start(struct publisher **out, struct error *error);

/** Publish at all? Returns at once. */
void publisher_switch(struct publisher *publisher, bool on);

/** Guests of @p source (below PUBLISHER_MAX_SOURCES) are those of @p uri, which must live on. Not
 * wanted: no longer. */
void publisher_source(struct publisher *publisher, unsigned source, const char *uri, bool wanted);

/** A new record; @p precision as in the history. From any thread; never blocks for long. */
void publisher_put(struct publisher *publisher, unsigned source, const struct sample_record *record,
                   double precision);

/** The guest has ended, or is opened anew: what was published for it no longer counts. */
void publisher_forget(struct publisher *publisher, const char *uuid);

/** Begins to end: nothing more is published, and all is removed. Returns at once. */
void publisher_end(struct publisher *publisher);

/** After publisher_end(): false when all was not removed within @p seconds. */
bool publisher_wait(struct publisher *publisher, unsigned seconds);
