// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/migrate_terms.h"

int migrate_terms_check(const struct migrate_terms *terms)
{
    return terms->downtime_s > MIGRATE_DOWNTIME_MAX_S
               ? command_refuse("--downtime: QEMU allows at most %d s", MIGRATE_DOWNTIME_MAX_S)
               : 0;
}
