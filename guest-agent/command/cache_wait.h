// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache_wait.h  vmwss-guest cache goes on until a signal, and shows on a terminal that it
 * does. */
#pragma once

#include "base/progress.h"
#include "cache/survey.h"

struct cache_wait {
    struct cache_patience patience; /* for the question of the survey */
    struct survey *survey;
    struct progress progress;
    uint64_t began_ns;
};

/** Gives the survey this patience; signals only end it from now on. */
void cache_wait_begin(struct cache_wait *wait, struct survey *survey);

/** Clears what was shown. */
void cache_wait_end(struct cache_wait *wait);
