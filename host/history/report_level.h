// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report_level.h  Chooses the host of a report, and minutes or hours as its source. */
#pragma once

#include "base/error.h"
#include "history/report_options.h"

#include <stdint.h>
#include <sys/types.h>

struct history_guest;
struct store;

/** Keeps the guests of one host in the array, and puts its name in @p host; returns their number.
 * Returns -ENOTUNIQ: there are several hosts and none was chosen; -ENOENT: the host has no
 * records. */
ssize_t report_choose_host(const struct report_options *options, struct history_guest *guests,
                           ssize_t n, char host[256], struct error *error);

/** Chooses minutes if they are kept for the whole span, because they have each guest's share of a
 * sum; otherwise hours. *from_s: start of the first one within the span. */
int report_level(struct store *store, const struct report_options *options, int *level_s,
                 double *from_s, struct error *error);

/** Returns -ENODATA, with a message that names the windows that exist in place of the requested
 * one. */
int report_nothing(struct store *store, const struct report_options *options, struct error *error);
