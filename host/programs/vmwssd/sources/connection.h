// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file connection.h  Follows the domains of one libvirt connection for the fleet.
 *
 * A separate thread makes the calls, which may block for any time: a scan of a guest never waits
 * for one. When libvirtd ends, its guests are still measured; the thread connects again, at first
 * after a second, later every minute, and then compares the lists of guests.
 */
#pragma once

#include "programs/vmwssd/scan/fleet.h"

struct connection; /* opaque */

/** Starts libvirt's event loop in a separate thread; call it once, before the first connection. */
int connections_init(struct error *error);

/** Begins to follow @p uri; @p number distinguishes its guests. It lives as long as the process.
 * Returns NULL if no thread could be started. */
struct connection *connection_start(unsigned number, const char *uri, const struct fsroot *root,
                                    struct fleet *fleet);

/** Removes all its guests, and stops following until it is wanted again. Returns at once. */
void connection_use(struct connection *connection, bool wanted);

/** Returns true if it is connected. */
bool connection_up(struct connection *connection);
