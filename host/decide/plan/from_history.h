// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file from_history.h  Builds a fleet from the histories of its hosts. history/history.h is read
 * twice: hours for the guests and their right sizes, minutes for their needs. A source may also be
 * the URL of a Prometheus HTTP API (from_prometheus.h), which has many hosts.
 *
 * A guest's need in a minute is the upper bound of its WSS, or the largest WSS of that minute. It
 * holds until the guest's next record, or until that record is late, however rarely the guest is
 * measured: just as an exporter serves it, so that a URL gives the same plan (history/standing.h).
 * A guest that cannot be measured needs its resident memory. A guest that was on several hosts (one
 * UUID) belongs, with all its history, to the host with its last hour; if two hosts have the same
 * last hour, to the one where it has not ended. Left out are guests that have ended, and guests
 * without a record for an hour while others of the host had some, unless their last record still
 * holds, or they are suspended or not measured. The hosts are those of guests with an hour in the
 * span, including hosts that have no guests now.
 */
#pragma once

#include "decide/plan/fleet.h"
#include "decide/plan/reading.h"

/**
 * Reads the fleet. The caller then sets capacities and reserves of the hosts, unless a URL had
 * them, and pinned and apart of the guests.
 * @return 0: free it with plan_fleet_free(). -ENODATA: a
 * file has no data for that time or window, though it has guests; -ENOTUNIQ: a file that was given
 * a name covers several hosts, two files cover one host, or guests of two hosts have the same UUID;
 * or an error of the history or the URL: the message names it
 */
int plan_read(const struct plan_reading *reading, struct plan_fleet *fleet, struct error *error);
