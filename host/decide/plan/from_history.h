// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file from_history.h  A fleet out of the histories of its hosts: history/history.h read twice,
 * hours for which guests there are and how large they should be, minutes for what they needed. A
 * source may also be the URL of a Prometheus HTTP API (from_prometheus.h), which has many hosts.
 *
 * A guest's need in a minute is the upper bound of its WSS, or the largest WSS of that minute. It
 * stands until the guest's next record, or until that is late, however seldom it is measured: just
 * as an exporter serves it, so that a URL gives the same plan (history/standing.h). A guest that
 * cannot be measured needs what is resident. Of guests that were on several hosts (one UUID) the
 * host with the last hour has them, with all their history; of two with the same one that where
 * they have not ended. Guests that have ended are left out, and those without a record for an hour
 * while others of the host had some, unless that still stands, or they are suspended or not
 * watched. Hosts are those of guests that have an hour in the span, and such as have no guests now.
 */
#pragma once

#include "decide/plan/fleet.h"
#include "decide/plan/reading.h"

/**
 * Capacities and reserves of the hosts, unless a URL had them, and pinned, apart of the guests, are
 * left for the caller to set.
 * @return 0: free it with plan_fleet_free(). -ENODATA: a file has nothing of that time or window,
 * though there are guests; -ENOTUNIQ: a file that was given a name is of several hosts, two files
 * are of one, or guests of two hosts have one UUID; or as the history or the URL: the message names
 * it
 */
int plan_read(const struct plan_reading *reading, struct plan_fleet *fleet, struct error *error);
