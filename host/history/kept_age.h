// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kept_age.h  The age of a record, and whether the guest's next one is missing. */
#pragma once

#include "base/clock.h"
#include "measure/record/field.h"

#include <math.h>
#include <stdbool.h>

/* A guest without a new record is current for this many of its periods, and at least for this many
 * seconds. */
#define KEPT_CURRENT_PERIODS 3
#define KEPT_CURRENT_S 60

/** Returns the seconds since the record; 0 for a record from the future. @p now_s: Unix time. */
static inline double kept_age_s(const struct kept_sample *kept, double now_s)
{
    return fmax(0, now_s - timespec_s(&kept->record.sample.time));
}

/** Returns true if the guest is still being measured: its record is not older than three periods
 * (at least a minute). */
static inline bool kept_is_current(const struct kept_sample *kept, double now_s)
{
    return kept_age_s(kept, now_s) <= fmax(KEPT_CURRENT_PERIODS * kept->period_s, KEPT_CURRENT_S);
}
