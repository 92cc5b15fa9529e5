// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file writer.h  The one thread that writes the history. Scans of guests never wait for the disk.
 *
 * Records queue for it; it takes all that came within a second into one transaction. When the disk
 * does not keep up, or is full, what does not fit into the queue is dropped, and logged once.
 */
#pragma once

#include "base/error.h"
#include "history/event.h"
#include "measure/record/ages_record.h"

struct writer; /* opaque */

/** Opens the history at @p path and starts the thread. One that is busy is opened later. 0, or as
 * store_open(). */
int writer_start(struct writer **out, const char *path, const struct store_retention *retention,
                 struct error *error);

/** CPU seconds that checking the history has taken so far, every page of it: in the background, or
 * before anything is added if its last writer was killed. The budget does not pay for that. 0 for
 * NULL. */
double writer_checking_cpu_s(struct writer *writer);

/** CPU seconds that opening the history took, which brings an older one up to date. 0 for NULL. */
double writer_opening_cpu_s(const struct writer *writer);

/** How long what is kept, from now on. NULL is allowed for @p writer. */
void writer_retain(struct writer *writer, const struct store_retention *retention);

/** Queues a copy of @p record; see struct store_entry. From any thread; never blocks for long.
 *  @param last_report  is the writer's from now on; NULL: nothing */
void writer_put(struct writer *writer, const struct ages_record *record, double period_s,
                double precision, char *last_report);

/** Queues an event of the guest, of now, likewise; a stall is written at once. NULL is allowed for
 * @p writer. */
void writer_event(struct writer *writer, const char *uuid, enum event_kind kind);

/** How many records were written and dropped so far. */
void writer_counts(struct writer *writer, uint64_t *written, uint64_t *dropped);

/** Writes what is queued, closes the history, and ends. What is queued from now on is dropped:
 * threads that wait for libvirt may have the writer yet. NULL is allowed. */
void writer_stop(struct writer *writer);

/** Frees a writer that was stopped, when no thread has it any more. NULL is allowed. */
void writer_free(struct writer *writer);
