// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file host_sum.h  Adds up the needs of each host's guests by minute, and stores the sums with
 * their hours (host_need.h). */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

/** Adds up the minutes that begin from @p from_s to before @p to_s; call within a transaction. @p
 * pause: there are no records of these minutes, so the walk ends once no earlier record stands for
 * them. */
int host_sum_range(struct store *store, int64_t from_s, int64_t to_s, bool pause,
                   struct error *error);
