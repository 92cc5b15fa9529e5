// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file filled.c  Estimates how much of guest RAM is not zero; see forecast.h. */
#include "decide/migrate/forecast.h"
#include "measure/record/sample_record.h"

#include <math.h>

/* No more than this part is taken of a guest that is hardly larger than what firmware leaves. */
#define FIRMWARE_MOST 0.25

bool migrate_is_populated(double ram_bytes, double resident_bytes)
{
    return resident_bytes > MIGRATE_RESIDENT_MOST * ram_bytes;
}

struct migrate_range migrate_filled(double ram_bytes, double resident_bytes,
                                    const struct write_curve *writes, bool arrived)
{
    const double most = fmin(resident_bytes, ram_bytes);
    const double written = dirty_bytes(writes, DIRTY_LOW, HUGE_VAL, most);
    const double rest = most -
                        fmin(MIGRATE_FIRMWARE_ZEROES * MIGRATE_PAGE_BYTES, FIRMWARE_MOST * most);
    const double share = writes->flags & FLAG_THP ? MIGRATE_HUGE_ZEROES_SHARE_MOST
                                                  : MIGRATE_ZEROES_SHARE_MOST;

    return (struct migrate_range){
        .value = fmax(written, rest * (1 - MIGRATE_ZEROES_SHARE)),
        .low = fmax(written, arrived || migrate_is_populated(ram_bytes, resident_bytes)
                                 ? 0
                                 : rest * (1 - share)),
        .high = writes->flags & FLAG_SWAP ? ram_bytes : most,
    };
}
