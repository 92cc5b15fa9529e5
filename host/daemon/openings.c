// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file openings.c  See openings.h. */
#include "daemon/openings.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_RETRY_NS 5000000000ULL
#define LAST_RETRY_NS 60000000000ULL

struct opening {
    char uuid[37];
    uint64_t at_ns;    /* not before */
    uint64_t retry_ns; /* how long it was put off; 0: not yet */
};

void openings_free(struct openings *openings)
{
    free(openings->list);
    *openings = (struct openings){0};
}

static struct opening *find(const struct openings *openings, const char *uuid)
{
    for (size_t i = 0; i < openings->n; i++)
        if (!strcmp(openings->list[i].uuid, uuid))
            return &openings->list[i];
    return NULL;
}

bool openings_has(const struct openings *openings, const char *uuid)
{
    return find(openings, uuid) != NULL;
}

static bool make_room(struct openings *openings)
{
    if (openings->n < openings->room)
        return true;

    size_t room = openings->room ? 2 * openings->room : 16;
    struct opening *list = realloc(openings->list, room * sizeof(*list));

    if (!list)
        return false;
    openings->list = list;
    openings->room = room;
    return true;
}

bool openings_put(struct openings *openings, const char *uuid)
{
    struct opening *opening = find(openings, uuid);

    if (!opening) {
        if (!make_room(openings))
            return false;
        opening = &openings->list[openings->n++];
        memset(opening, 0, sizeof(*opening));
        memcpy(opening->uuid, uuid, sizeof(opening->uuid));
    }
    opening->at_ns = 0;
    return true;
}

static void take_out(struct openings *openings, struct opening *opening)
{
    size_t after = (size_t)(openings->list + openings->n - (opening + 1));

    memmove(opening, opening + 1, after * sizeof(*opening));
    openings->n--;
}

void openings_drop(struct openings *openings, const char *uuid)
{
    struct opening *opening = find(openings, uuid);

    if (opening)
        take_out(openings, opening);
}

void openings_put_off(struct openings *openings, const char *uuid, uint64_t now_ns)
{
    struct opening *opening = find(openings, uuid);

    if (!opening)
        return;
    opening->retry_ns = opening->retry_ns ? 2 * opening->retry_ns : FIRST_RETRY_NS;
    if (opening->retry_ns > LAST_RETRY_NS)
        opening->retry_ns = LAST_RETRY_NS;
    opening->at_ns = now_ns + opening->retry_ns;
}

const char *openings_next(const struct openings *openings, uint64_t now_ns)
{
    for (size_t i = openings->n; i-- > 0;)
        if (openings->list[i].at_ns <= now_ns)
            return openings->list[i].uuid;
    return NULL;
}

size_t openings_ready(const struct openings *openings, uint64_t now_ns)
{
    size_t n = 0;

    for (size_t i = 0; i < openings->n; i++)
        n += openings->list[i].at_ns <= now_ns;
    return n;
}

uint64_t openings_at_ns(const struct openings *openings)
{
    uint64_t at_ns = UINT64_MAX;

    for (size_t i = 0; i < openings->n; i++)
        if (openings->list[i].at_ns < at_ns)
            at_ns = openings->list[i].at_ns;
    return at_ns;
}
