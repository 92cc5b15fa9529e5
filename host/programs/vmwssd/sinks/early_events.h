// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file early_events.h  Events of guests that have no record yet. Start events are queued until the
 * first record; a guest that ends before it leaves no trace. A guest that cannot be measured never
 * has a record, and at most three events here.
 */
#pragma once

#include "history/event.h"

#include <stdbool.h>
#include <stddef.h>

struct early_events {
    size_t n; /* ordered by time */
    struct store_event *at;
};

/** Keeps @p event if it is about how its guest came here. If it is the guest's end, removes all of
 * the guest's events. If there is no memory, the event is lost. */
void early_events_note(struct early_events *early, const struct store_event *event);

/** Removes the events for which @p done returns true. */
void early_events_take(struct early_events *early,
                       bool (*done)(void *context, const struct store_event *event), void *context);

void early_events_free(struct early_events *early);
