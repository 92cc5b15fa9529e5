// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/record/write_record.h"

void write_record_take(struct sample_record *record)
{
    struct write_curve *curve = &record->writes;

    *curve = (struct write_curve){.method = record->method,
                                  .flags = record->flags,
                                  .granularity_bytes = record->granularity_bytes,
                                  .sparse_end_bytes = curve->sparse_end_bytes};
    for (size_t w = 0; w < record->n_windows && w < WRITE_POINTS_MAX; w++) {
        const struct window_record *window = &record->windows[w];

        curve->points[curve->n++] = (struct write_point){.window_s = window->window_s,
                                                         .est_window_s = window->est_window_s,
                                                         .bytes = window->wss_bytes,
                                                         .low_bytes = window->wss_low_bytes,
                                                         .high_bytes = window->wss_high_bytes};
    }
    record->n_windows = 0;
}
