// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file patience.h  When to stop: many files, or one of many terabytes, can take longer than the
 * user wants to wait. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct cache_patience {
    /** Called between two files, and between two pieces of one, at @p position (0 .. 1) of it;
     * false: that is enough. */
    bool (*go_on)(void *context, double position);
    void *context;
};

/** Without a function to ask (NULL) it goes on to the end. */
static inline bool cache_goes_on(const struct cache_patience *patience, double position)
{
    return !patience || patience->go_on(patience->context, position);
}
