// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file host_sum.h  Adds up the needs of each host's guests by minute, and stores the sums of
 * minutes and hours (host_need.h). */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

/** Adds up the minutes that begin at or after @p from_s and before @p to_s. Call it within a
 * transaction. @p pause: these minutes have no records, so the walk ends when no earlier record
 * covers them. */
int host_sum_range(struct store *store, int64_t from_s, int64_t to_s, bool pause,
                   struct error *error);
