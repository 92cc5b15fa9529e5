// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/sources/open_queue.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_RETRY_NS 5000000000ULL
#define LAST_RETRY_NS 60000000000ULL

struct open_entry {
    char uuid[37];
    uint64_t at_ns;    /* not before this time */
    uint64_t retry_ns; /* last delay; 0: it was not delayed yet */
};

void open_queue_free(struct open_queue *queue)
{
    free(queue->list);
    *queue = (struct open_queue){0};
}

static struct open_entry *open_queue_find(const struct open_queue *queue, const char *uuid)
{
    for (size_t i = 0; i < queue->n; i++)
        if (!strcmp(queue->list[i].uuid, uuid))
            return &queue->list[i];
    return NULL;
}

bool open_queue_has(const struct open_queue *queue, const char *uuid)
{
    return open_queue_find(queue, uuid) != NULL;
}

bool open_queue_put(struct open_queue *queue, const char *uuid)
{
    struct open_entry *entry = open_queue_find(queue, uuid);

    if (!entry) {
        struct open_entry *list = array_grow(queue->list, queue->n, sizeof(*list));

        if (!list)
            return false;
        queue->list = list;
        entry = &list[queue->n++];
        memset(entry, 0, sizeof(*entry));
        memcpy(entry->uuid, uuid, sizeof(entry->uuid));
    }
    entry->at_ns = 0;
    return true;
}

static void take_out(struct open_queue *queue, struct open_entry *entry)
{
    size_t after = (size_t)(queue->list + queue->n - (entry + 1));

    memmove(entry, entry + 1, after * sizeof(*entry));
    queue->n--;
}

void open_queue_drop(struct open_queue *queue, const char *uuid)
{
    struct open_entry *entry = open_queue_find(queue, uuid);

    if (entry)
        take_out(queue, entry);
}

void open_queue_put_off(struct open_queue *queue, const char *uuid, uint64_t now_ns)
{
    struct open_entry *entry = open_queue_find(queue, uuid);

    if (!entry)
        return;
    entry->retry_ns = entry->retry_ns ? 2 * entry->retry_ns : FIRST_RETRY_NS;
    if (entry->retry_ns > LAST_RETRY_NS)
        entry->retry_ns = LAST_RETRY_NS;
    entry->at_ns = now_ns + entry->retry_ns;
}

const char *open_queue_next(const struct open_queue *queue, uint64_t now_ns)
{
    for (size_t i = queue->n; i-- > 0;)
        if (queue->list[i].at_ns <= now_ns)
            return queue->list[i].uuid;
    return NULL;
}

size_t open_queue_ready(const struct open_queue *queue, uint64_t now_ns)
{
    size_t n = 0;

    for (size_t i = 0; i < queue->n; i++)
        n += queue->list[i].at_ns <= now_ns;
    return n;
}

uint64_t open_queue_at_ns(const struct open_queue *queue)
{
    uint64_t at_ns = UINT64_MAX;

    for (size_t i = 0; i < queue->n; i++)
        if (queue->list[i].at_ns < at_ns)
            at_ns = queue->list[i].at_ns;
    return at_ns;
}
