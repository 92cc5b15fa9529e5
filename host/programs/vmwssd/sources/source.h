// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file source.h  A source of guests: a libvirt connection (connection.h), or the processes of this
 * host (processes.h). Each is a separate thread that adds guests to the fleet and removes them; its
 * number distinguishes its guests.
 */
#pragma once

#include "programs/vmwssd/scan/fleet.h"

struct connection; /* programs/vmwssd/sources/connection.h */
struct processes;  /* programs/vmwssd/sources/processes.h */

struct source {
    char uri[512]; /* or CONFIG_PROCESSES; empty: no source */
    struct connection *connection;
    struct processes *processes; /* one of the two is NULL */
};

/** Begins to follow @p uri, for as long as the process lives. Returns 0; -ENOMEM: no thread could
 * be started; or the error of libvirt's event loop, with the message. */
int source_start(struct source *source, unsigned number, const char *uri, const struct fsroot *root,
                 struct fleet *fleet, struct error *error);

/** Removes all its guests, and stops following until source_use() wants it again. Returns at once.
 */
void source_use(const struct source *source, bool wanted);

/** Returns true if it is connected. Processes can always be read. */
bool source_up(const struct source *source);
