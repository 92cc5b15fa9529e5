// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file deadline.h  A queue of deadlines: a heap ordered by time, the earliest first. No locks. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** An entry; embedded in a larger struct. Zeroed: not queued. */
struct deadline {
    uint64_t at_ns;
    size_t place; /* position in the heap, from 1; 0: not queued */
};

struct deadline_queue {
    struct deadline **heap; /* indexed from 1 */
    size_t n, room;
};

void deadline_queue_free(struct deadline_queue *queue);

/** Queues @p deadline at @p at_ns, or moves it there. 0 or -ENOMEM. */
int deadline_put(struct deadline_queue *queue, struct deadline *deadline, uint64_t at_ns);

/** Removes it if it is queued. */
void deadline_remove(struct deadline_queue *queue, struct deadline *deadline);

/** Returns the earliest, which stays queued; NULL: the queue is empty. */
struct deadline *deadline_next(const struct deadline_queue *queue);
