// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file repeat.c  See repeat.h. */
#include "command/repeat.h"

#include "base/parse.h"
#include "command/command.h"

#include <time.h>

int repeat_option(struct repeat *repeat, int option, const char *value)
{
    if (option == 'k')
        return parse_u64(value, 1, UINT32_MAX, &repeat->count) == 0
                   ? 0
                   : command_bad_value("--count", value, "a number from 1");
    return parse_seconds(value, &repeat->interval_s) == 0
               ? 0
               : command_bad_value("--interval", value, PARSE_SECONDS_EXPECTED);
}

bool repeat_again(const struct repeat *repeat, uint64_t done)
{
    struct timespec pause = {.tv_sec = (time_t)repeat->interval_s};

    if (repeat->interval_s <= 0 || (repeat->count > 0 && done >= repeat->count))
        return false;
    pause.tv_nsec = (long)((repeat->interval_s - (double)pause.tv_sec) * 1e9);
    nanosleep(&pause, NULL);
    return true;
}
