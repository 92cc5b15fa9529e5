// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file status_json.h  The last record of every guest in the history, for the page /status.
 *
 * One object, schema vmwss.current.v1: time, host (of the newest record), newest, and guests, by
 * name. A guest has the members of vmwss.status.v1 about its record: measured, suspended, the
 * reason why it is not measured, and age_seconds beside the members of vmwss.sample.v1. Guests
 * whose end was noted are left out, and guests without a record for STATUS_STALE_S; of two records
 * with the same UUID the newer counts. It contains no data from /proc: the exporter reads only the
 * history.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

#define STATUS_STALE_S 86400

/** Reads the history as of @p now_s, Unix time. The caller frees *text, which has *size bytes and a
 * NUL. Returns 0; -ENOMEM; or as history_open(), with the message. */
int status_json_text(const char *database, double now_s, char **text, size_t *size,
                     struct error *error);
