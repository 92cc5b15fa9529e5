// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report_level.h  Chooses the host of a report, and whether it uses minutes or hours. */
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

/** Chooses minutes if they are kept for the whole span, because they have each guest's part of a
 * sum; otherwise hours. *from_s: start of the first minute or hour in the span. */
int report_level(struct store *store, const struct report_options *options, int *level_s,
                 double *from_s, struct error *error);

/** Returns -ENODATA; the message names the existing windows instead of the requested one. */
int report_nothing(struct store *store, const struct report_options *options, struct error *error);
