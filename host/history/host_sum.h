// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file host_sum.h  Adds up what the guests of each host needed in minutes, and keeps it with the
 * hours that these are of (host_need.h). */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

/** The minutes that begin from @p from_s to before @p to_s; within a transaction. @p pause: no
 * record is of them, so once none stands any more it ends. */
int host_sum_range(struct store *store, int64_t from_s, int64_t to_s, bool pause,
                   struct error *error);
