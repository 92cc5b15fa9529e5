// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file migrate_at.h  vmwss migrate --at: the forecast of each hour of the week, from a history.
 */
#pragma once

#include "decide/migrate/terms.h"
#include "show/sheet.h"

/** Reads what the guest, a name or a UUID, wrote in the whole history, and prints the forecast of
 * each hour of the week of which anything is known. Returns the exit code. */
int migrate_at(const char *history, const char *guest, const struct migrate_terms *terms,
               enum show_format format);
