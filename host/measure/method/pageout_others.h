// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pageout_others.h  Method `pageout`, other processes: whether they read guest RAM, unmapped
 * it or took its bits since it was marked, and what that does to the counts. */
#pragma once

#include "measure/method/pageout_state.h"
#include "measure/tally.h"

/** Returns true if page flags show reads by other processes. */
bool pageout_tells_readers(const struct target *target);

/** The I/O of QEMU so far; nothing if reads do not show. */
struct qemu_io pageout_readers_io(const struct target *target);

/** Notes disturbances by other processes since the marking, and counts. */
void pageout_count(void *const *states, size_t n, struct tally *tallies);
