// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file migrate_terms.h  The options of migrate and plan that say how guests are migrated. */
#pragma once

#include "decide/migrate/terms.h"
#include "programs/vmwss/cli.h"

/** The options, of a struct migrate_terms. */
extern const struct option_line migrate_terms_lines[];

/** Checks what the options do not check each by itself. Returns 0; -EINVAL after printing. */
int migrate_terms_check(const struct migrate_terms *terms);
