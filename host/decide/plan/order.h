// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file order.h  The order of moves by their price. A pure function. */
#pragma once

#include "decide/plan/moves.h"

/**
 * Orders the moves from one host for one reason, which follow each other, by their price: first
 * those that may be made at any hour, the shortest first and those of unknown price last, then
 * those that wait for their hour. Other hosts only receive in such moves, so their order does not
 * matter to memory. Guests that belong together stay so. Returns 0 or -ENOMEM.
 */
int plan_order_moves(const struct plan_state *state, struct plan_moves *moves);
