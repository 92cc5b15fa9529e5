// SPDX-License-Identifier: LGPL-2.1-or-later
#include "command/repeat.h"

#include <time.h>

bool repeat_again(const struct repeat *repeat, uint64_t done)
{
    struct timespec pause = {.tv_sec = (time_t)repeat->interval_s};

    if (repeat->interval_s <= 0 || (repeat->count > 0 && done >= repeat->count))
        return false;
    pause.tv_nsec = (long)((repeat->interval_s - (double)pause.tv_sec) * 1e9);
    nanosleep(&pause, NULL);
    return true;
}
