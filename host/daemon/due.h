// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file due.h  What is to be done next: a heap of things ordered by the time at which they are
 * due. No locks. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** Part of what is queued. Zeroed: not queued. */
struct due {
    uint64_t at_ns;
    size_t place; /* in the heap, from 1; 0: not queued */
};

struct due_queue {
    struct due **heap; /* from 1 */
    size_t n, room;
};

void due_queue_free(struct due_queue *queue);

/** Queues @p due for @p at_ns, or moves it there. 0 or -ENOMEM. */
int due_put(struct due_queue *queue, struct due *due, uint64_t at_ns);

/** Takes it out, if it is queued. */
void due_remove(struct due_queue *queue, struct due *due);

/** The next, still queued; NULL: there is none. */
struct due *due_next(const struct due_queue *queue);
