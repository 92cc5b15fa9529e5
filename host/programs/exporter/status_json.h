// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file status_json.h  The last record of every guest that the history has, for the page /status.
 *
 * One object, schema vmwss.current.v1: time, host (of the newest record), newest, and guests, by
 * name. A guest has what vmwss.status.v1 has of its record: measured, suspended, the reason why it
 * is not measured, and age_seconds beside the members of vmwss.sample.v1. One whose end was noted
 * is left out, and one without a record for STATUS_STALE_S; of two records with one UUID the newer
 * counts. What /proc has is not in it: the exporter reads the history only.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

#define STATUS_STALE_S 86400

/** Reads the history as of @p now_s, Unix time. *text is the caller's to free, of *size bytes and a
 * NUL. 0; -ENOMEM; or as history_open(), with the message. */
int status_json_text(const char *database, double now_s, char **text, size_t *size,
                     struct error *error);
