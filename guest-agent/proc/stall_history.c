// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/stall_history.h"

#include <stddef.h>

/* Returns the sample @p ago samples before the newest; NULL if there are fewer. */
static const struct stall_sample *sample_ago(const struct stall_history *history, unsigned ago)
{
    if (ago >= history->n || ago >= STALL_SAMPLES)
        return NULL;
    return &history->sample[(history->n - 1 - ago) % STALL_SAMPLES];
}

bool stall_history_due(const struct stall_history *history, uint64_t now_ns, uint64_t window_us)
{
    const struct stall_sample *newest = sample_ago(history, 0);

    return !newest || now_ns - newest->taken_ns >= window_us * 1000 / STALL_SAMPLES_PER_WINDOW;
}

void stall_history_add(struct stall_history *history, uint64_t now_ns, uint64_t total_us)
{
    history->sample[history->n++ % STALL_SAMPLES] = (struct stall_sample){now_ns, total_us};
}

bool stall_history_since(const struct stall_history *history, uint64_t now_ns, uint64_t total_us,
                         uint64_t window_us, uint64_t *stalled_us, uint64_t *over_us)
{
    const struct stall_sample *then = NULL;

    for (unsigned ago = 0; sample_ago(history, ago); ago++) {
        then = sample_ago(history, ago);
        if (now_ns - then->taken_ns >= window_us * 1000)
            break;
    }
    if (!then || total_us < then->total_us)
        return false;
    *stalled_us = total_us - then->total_us;
    *over_us = (now_ns - then->taken_ns) / 1000;
    return true;
}
