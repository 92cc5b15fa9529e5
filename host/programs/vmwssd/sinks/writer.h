// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file writer.h  The one thread that writes the history. Scans of guests never wait for the disk.
 *
 * Records are queued for it; it writes all records of a second in one transaction. If the disk does
 * not keep up, or is full, records that do not fit into the queue are dropped, and this is logged
 * once.
 */
#pragma once

#include "base/error.h"
#include "history/event.h"
#include "measure/record/ages_record.h"

struct writer; /* opaque */

/** Opens the history at @p path and starts the thread. A busy history is opened later. Returns 0,
 * or as store_open(). */
int writer_start(struct writer **out, const char *path, const struct store_retention *retention,
                 struct error *error);

/** Returns the CPU seconds so far of checking every page of the history: in the background, or
 * before anything is added if its last writer was killed. The budget does not pay for them. 0 for
 * NULL. */
double writer_checking_cpu_s(struct writer *writer);

/** Returns the CPU seconds of opening the history, which also brings an older one up to date. 0 for
 * NULL. */
double writer_opening_cpu_s(const struct writer *writer);

/** Sets the retention from now on. @p writer may be NULL. */
void writer_retain(struct writer *writer, const struct store_retention *retention);

/** Queues a copy of @p record; see struct store_entry. From any thread; never blocks for long.
 * @param last_report  the writer owns it from now on; NULL: none */
void writer_put(struct writer *writer, const struct ages_record *record, double period_s,
                double precision, char *last_report);

/** Queues an event of the guest with the current time, in the same way; a stall is written at once.
 * @p writer may be NULL. */
void writer_event(struct writer *writer, const char *uuid, enum event_kind kind);

/** Reads how many records were written and dropped so far. */
void writer_counts(struct writer *writer, uint64_t *written, uint64_t *dropped);

/** Writes the queue, closes the history, and ends the thread. Later records are dropped: threads
 * that wait for libvirt may still have the writer. Accepts NULL. */
void writer_stop(struct writer *writer);

/** Frees a stopped writer once no thread has it any more. Accepts NULL. */
void writer_free(struct writer *writer);
