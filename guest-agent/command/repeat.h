// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file repeat.h  The options --interval and --count, which several commands have. */
#pragma once

#include "base/option.h"

#include <stdbool.h>
#include <stdint.h>

struct repeat {
    double interval_s; /* 0: once */
    uint64_t count;    /* 0: for ever */
};

/* The lines of these options; @p at: offset of the struct repeat. */
#define REPEAT_INTERVAL(at, text)                                                         \
    {                                                                                     \
        OPTION_SECONDS, 'i', "interval", "S", (at) + offsetof(struct repeat, interval_s), \
            .help = (text)                                                                \
    }
#define REPEAT_COUNT(at, text)                                                  \
    {                                                                           \
        OPTION_COUNT, 'k', "count", "N", (at) + offsetof(struct repeat, count), \
            .help = (text), 1, UINT32_MAX, "a number from 1"                    \
    }

/** Sleeps for an interval and returns true; returns false if there is no interval or @p done
 * reaches the count. */
bool repeat_again(const struct repeat *repeat, uint64_t done);
