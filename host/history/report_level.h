// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report_level.h  Of which host a report is, whether it is made from minutes or from hours,
 * or cannot be made. */
#pragma once

#include "base/error.h"
#include "history/report_options.h"

#include <stdint.h>
#include <sys/types.h>

struct history_guest;
struct store;

/** Leaves the guests of one host in the array, and its name in @p host; their number. -ENOTUNIQ: of
 * several hosts none was chosen; -ENOENT: nothing is kept of it. */
ssize_t report_choose_host(const struct report_options *options, struct history_guest *guests,
                           ssize_t n, char host[256], struct error *error);

/** Minutes as far as they are kept of the whole span, for they have each guest's share of a sum;
 * else hours. *from_s: when the first one begins within the span. */
int report_level(struct store *store, const struct report_options *options, int *level_s,
                 double *from_s, struct error *error);

/** -ENODATA, and says what there is instead of the window that was asked for. */
int report_nothing(struct store *store, const struct report_options *options, struct error *error);
