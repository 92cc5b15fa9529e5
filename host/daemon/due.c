// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file due.c  See due.h. A binary heap; the parent of place i is i / 2. */
#include "daemon/due.h"

#include <errno.h>
#include <stdlib.h>

void due_queue_free(struct due_queue *queue)
{
    free(queue->heap);
    *queue = (struct due_queue){0};
}

static void set(struct due_queue *queue, size_t place, struct due *due)
{
    queue->heap[place] = due;
    due->place = place;
}

static void rise(struct due_queue *queue, size_t place)
{
    struct due *due = queue->heap[place];

    for (; place > 1 && queue->heap[place / 2]->at_ns > due->at_ns; place /= 2)
        set(queue, place, queue->heap[place / 2]);
    set(queue, place, due);
}

static void sink(struct due_queue *queue, size_t place)
{
    struct due *due = queue->heap[place];

    for (size_t child; (child = 2 * place) <= queue->n; place = child) {
        if (child < queue->n && queue->heap[child + 1]->at_ns < queue->heap[child]->at_ns)
            child++;
        if (queue->heap[child]->at_ns >= due->at_ns)
            break;
        set(queue, place, queue->heap[child]);
    }
    set(queue, place, due);
}

static int make_room(struct due_queue *queue)
{
    if (queue->n + 1 < queue->room)
        return 0;

    size_t room = queue->room ? 2 * queue->room : 64;
    struct due **heap = realloc(queue->heap, room * sizeof(*heap)); /* NOLINT: pointers are meant */

    if (!heap)
        return -ENOMEM;
    queue->heap = heap;
    queue->room = room;
    return 0;
}

int due_put(struct due_queue *queue, struct due *due, uint64_t at_ns)
{
    if (due->place == 0) {
        int rc = make_room(queue);

        if (rc < 0)
            return rc;
        set(queue, ++queue->n, due);
    }
    due->at_ns = at_ns;
    rise(queue, due->place);
    sink(queue, due->place);
    return 0;
}

void due_remove(struct due_queue *queue, struct due *due)
{
    size_t place = due->place;

    if (place == 0)
        return;

    struct due *last = queue->heap[queue->n--];

    due->place = 0;
    if (last == due)
        return;
    set(queue, place, last);
    rise(queue, place);
    sink(queue, last->place);
}

struct due *due_next(const struct due_queue *queue)
{
    return queue->n > 0 ? queue->heap[1] : NULL;
}
