// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file moves.h  Guests that are migrated here and away, saved and restored, by libvirt's
 * events. */
#pragma once

#include "guest/domain/domain_events.h"
#include "programs/vmwssd/scan/fleet.h"

#define ARRIVING 64

struct moves {
    char arriving[ARRIVING][37]; /* UUIDs of domains that are being migrated here; "": free */
    size_t n_arriving;           /* arrivals for which there was no room */
};

/** Tells the fleet of a move that @p event completes. */
void moves_note(struct moves *moves, struct fleet *fleet, const struct domain_event *event);

/** Logs @p event if it is a move, a reset or a change of the balloon. */
void moves_log(const struct domain_event *event);
