// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file source.h  Where guests are found: a libvirt connection (connection.h), or the
 * processes of this host (processes.h). Each is a thread of its own that adds guests to the fleet
 * and lets them go; its number distinguishes its guests.
 */
#pragma once

#include "programs/vmwssd/scan/fleet.h"

struct connection; /* programs/vmwssd/sources/connection.h */
struct processes;  /* programs/vmwssd/sources/processes.h */

struct source {
    char uri[512]; /* or CONFIG_PROCESSES; empty: none */
    struct connection *connection;
    struct processes *processes; /* one of the two is NULL */
};

/** Begins to follow @p uri, for as long as the process lives. 0; -ENOMEM: no thread; or libvirt's
 * event loop cannot be had, with the message. */
int source_start(struct source *source, unsigned number, const char *uri, const struct fsroot *root,
                 struct fleet *fleet, struct error *error);

/** Lets all its guests go, and follows no longer, until source_use() wants it again. Returns at
 * once. */
void source_use(const struct source *source, bool wanted);

/** Is it connected? Processes can always be seen. */
bool source_up(const struct source *source);
