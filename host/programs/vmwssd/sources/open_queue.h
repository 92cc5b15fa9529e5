// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file open_queue.h  Open queue: the guests of a connection that wait to be opened, the newest
 * first, because a user is most likely waiting for that one. No locks.
 *
 * A guest that could not be opened is tried again, at growing intervals.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct open_entry; /* opaque */

/** Zeroed: empty. */
struct open_queue {
    struct open_entry *list; /* ordered with the newest last */
    size_t n;
};

void open_queue_free(struct open_queue *queue);

/** Queues a running guest that is not measured. A guest that is queued already keeps its place, and
 * is tried at once. Returns false if out of memory. */
bool open_queue_put(struct open_queue *queue, const char *uuid);

/** Returns true if it is queued. */
bool open_queue_has(const struct open_queue *queue, const char *uuid);

/** Removes a guest that is open or gone. */
void open_queue_drop(struct open_queue *queue, const char *uuid);

/** Delays a guest that could not be opened now: by 5 seconds, then twice as long each time, up to a
 * minute. */
void open_queue_put_off(struct open_queue *queue, const char *uuid, uint64_t now_ns);

/** Returns the newest guest that may be tried now; NULL: none. Valid until the next change. */
const char *open_queue_next(const struct open_queue *queue, uint64_t now_ns);

/** Returns how many may be tried now. */
size_t open_queue_ready(const struct open_queue *queue, uint64_t now_ns);

/** Returns when the first of them may be tried; UINT64_MAX: the queue is empty. */
uint64_t open_queue_at_ns(const struct open_queue *queue);
