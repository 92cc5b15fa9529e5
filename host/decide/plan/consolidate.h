// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file consolidate.h  Where guests should be: drains and relieves hosts, and empties others. Pure
 * functions.
 *
 * Guests are placed in the order of decreasing peaks, each on the fullest host that it fits on
 * (best fit decreasing; Johnson, "Near-optimal bin packing algorithms", MIT 1973). A host is
 * emptied completely or not at all, those with few guests first, and no guest is moved twice. So a
 * plan never makes a host short that was not, never uses more hosts, leaves pinned guests in place,
 * and keeps guests apart, or together, that must be. An empty host gets a guest only to relieve or
 * drain another host, or to separate guests. Each move fits when those before it have been made.
 */
#pragma once

#include "decide/plan/spare.h"

/** Moves the guests of hosts that are to be drained, those with the highest peaks first; guests
 * that are pinned or have no place stay. *state is then as after the moves, and these hosts are
 * gone. Returns 0 or -ENOMEM. */
int plan_drain(struct plan_state *state, struct plan_moves *moves);

/** Returns how many guests of the host share a bit of apart with another one there. */
size_t plan_count_together(const struct plan_state *state, size_t host);

/** Returns true if the guest belongs together with one that is on another host. */
bool plan_is_parted(const struct plan_state *state, size_t guest);

/** Joins guests that belong together, separates guests that must be apart, relieves hosts, then
 * empties hosts, with at most options.max_moves; no host is emptied if then options.spare hosts
 * could not fail. *state is then as after the moves, and hosts that were emptied are gone. Returns
 * 0 or -ENOMEM. */
int plan_consolidate(struct plan_state *state, struct plan_moves *moves);
