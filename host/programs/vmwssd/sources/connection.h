// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file connection.h  Follows the domains of one libvirt connection for the fleet.
 *
 * A thread of its own makes the calls, which may block for as long as libvirt likes: a scan of a
 * guest never waits for one. When libvirtd goes, guests stay watched; the thread connects again, at
 * first after a second, later every minute, and compares.
 */
#pragma once

#include "programs/vmwssd/scan/fleet.h"

struct connection; /* opaque */

/** libvirt's event loop in a thread of its own; once, before the first connection. */
int connections_init(struct error *error);

/** Begins to follow @p uri; @p number distinguishes its guests. It lives as long as the process.
 * NULL: no thread. */
struct connection *connection_start(unsigned number, const char *uri, const struct fsroot *root,
                                    struct fleet *fleet);

/** Lets all its guests go, and follows no longer, until it is wanted again. Returns at once. */
void connection_use(struct connection *connection, bool wanted);

/** Is it connected? */
bool connection_up(struct connection *connection);
