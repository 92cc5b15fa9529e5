// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/sinks/early_events.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define EARLY_EVENTS 2048 /* for a thousand guests: their start, and how they came here */

void early_events_take(struct early_events *early,
                       bool (*done)(void *context, const struct store_event *event), void *context)
{
    size_t left = 0;

    for (size_t i = 0; i < early->n; i++)
        if (!done(context, &early->at[i]))
            early->at[left++] = early->at[i];
    early->n = left;
}

static bool is_same_guest(void *context, const struct store_event *event)
{
    const struct store_event *other = context;

    return strcmp(event->uuid, other->uuid) == 0;
}

static bool is_same_event(void *context, const struct store_event *event)
{
    const struct store_event *other = context;

    return is_same_guest(context, event) && event->kind == other->kind;
}

void early_events_note(struct early_events *early, const struct store_event *event)
{
    struct store_event added = *event;
    const bool begins = event->kind == EVENT_START || event->kind == EVENT_MIGRATE_IN ||
                        event->kind == EVENT_RESTORE;

    if (!begins && event->kind != EVENT_SUSPEND && event->kind != EVENT_RESUME)
        early_events_take(early, is_same_guest, &added);
    if (!begins)
        return;
    early_events_take(early, is_same_event, &added);
    if (early->n == EARLY_EVENTS)
        memmove(early->at, early->at + 1, --early->n * sizeof(*early->at));

    struct store_event *more = array_grow(early->at, early->n, sizeof(*more));

    if (!more)
        return;
    early->at = more;
    more[early->n++] = added;
}

void early_events_free(struct early_events *early)
{
    free(early->at);
}
