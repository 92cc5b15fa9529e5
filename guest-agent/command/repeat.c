// SPDX-License-Identifier: LGPL-2.1-or-later
#include "command/repeat.h"

#include "base/clock.h"

bool repeat_again(const struct repeat *repeat, uint64_t done)
{
    if (repeat->interval_s <= 0 || (repeat->count > 0 && done >= repeat->count))
        return false;
    clock_sleep((uint64_t)(repeat->interval_s * 1e9));
    return true;
}
