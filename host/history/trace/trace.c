// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/trace/trace.h"

#include <stdlib.h>

void trace_layout_free(struct trace_layout *layout)
{
    free(layout->regions);
    free(layout->page);
    *layout = (struct trace_layout){0};
}

void trace_period_free(struct trace_period *period)
{
    free(period->runs);
    *period = (struct trace_period){0};
}

const struct map_region *trace_region(const struct trace_layout *layout, uint64_t page)
{
    size_t low = 0;
    size_t high = layout->n_regions;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (layout->regions[middle].first_page <= page)
            low = middle;
        else
            high = middle;
    }
    return &layout->regions[low];
}

double trace_begin_unix_s(const struct trace_period *period)
{
    return period->end_unix_s - period->readings[period->n_readings - 1].est_window_s;
}
