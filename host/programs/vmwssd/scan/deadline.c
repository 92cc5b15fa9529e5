// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file deadline.c  See deadline.h. A binary heap; the parent of place i is i / 2. */
#include "programs/vmwssd/scan/deadline.h"

#include <errno.h>
#include <stdlib.h>

void deadline_queue_free(struct deadline_queue *queue)
{
    free(queue->heap);
    *queue = (struct deadline_queue){0};
}

static void set(struct deadline_queue *queue, size_t place, struct deadline *deadline)
{
    queue->heap[place] = deadline;
    deadline->place = place;
}

static void rise(struct deadline_queue *queue, size_t place)
{
    struct deadline *deadline = queue->heap[place];

    for (; place > 1 && queue->heap[place / 2]->at_ns > deadline->at_ns; place /= 2)
        set(queue, place, queue->heap[place / 2]);
    set(queue, place, deadline);
}

static void sink(struct deadline_queue *queue, size_t place)
{
    struct deadline *deadline = queue->heap[place];

    for (size_t child; (child = 2 * place) <= queue->n; place = child) {
        if (child < queue->n && queue->heap[child + 1]->at_ns < queue->heap[child]->at_ns)
            child++;
        if (queue->heap[child]->at_ns >= deadline->at_ns)
            break;
        set(queue, place, queue->heap[child]);
    }
    set(queue, place, deadline);
}

static int make_room(struct deadline_queue *queue)
{
    if (queue->n + 1 < queue->room)
        return 0;

    size_t room = queue->room ? 2 * queue->room : 64;
    struct deadline **heap = realloc(queue->heap,
                                     room * sizeof(*heap)); /* NOLINT: pointers are meant */

    if (!heap)
        return -ENOMEM;
    queue->heap = heap;
    queue->room = room;
    return 0;
}

int deadline_put(struct deadline_queue *queue, struct deadline *deadline, uint64_t at_ns)
{
    if (deadline->place == 0) {
        int rc = make_room(queue);

        if (rc < 0)
            return rc;
        set(queue, ++queue->n, deadline);
    }
    deadline->at_ns = at_ns;
    rise(queue, deadline->place);
    sink(queue, deadline->place);
    return 0;
}

void deadline_remove(struct deadline_queue *queue, struct deadline *deadline)
{
    size_t place = deadline->place;

    if (place == 0)
        return;

    struct deadline *last = queue->heap[queue->n--];

    deadline->place = 0;
    if (last == deadline)
        return;
    set(queue, place, last);
    rise(queue, place);
    sink(queue, last->place);
}

struct deadline *deadline_next(const struct deadline_queue *queue)
{
    return queue->n > 0 ? queue->heap[1] : NULL;
}
