// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache_wait.c  See cache_wait.h. */
#include "command/cache_wait.h"

#include "base/clock.h"
#include "base/interrupt.h"

#include <inttypes.h>
#include <stdio.h>

static bool go_on(void *context, double position)
{
    struct cache_wait *wait = context;
    char text[64];

    snprintf(text, sizeof(text), "%" PRIu64 " files, and %.0f%% of one", wait->survey->total.files,
             100 * position);
    progress_say((double)(clock_ns() - wait->began_ns) / 1e9, text, &wait->progress);
    return !interrupted;
}

void cache_wait_begin(struct cache_wait *wait, struct survey *survey)
{
    *wait = (struct cache_wait){
        .patience = {go_on, wait}, .survey = survey, .began_ns = clock_ns()};
    progress_init(&wait->progress, "looking");
    survey->question.patience = &wait->patience;
    interrupt_catch();
}

void cache_wait_end(struct cache_wait *wait)
{
    progress_clear(&wait->progress);
}
