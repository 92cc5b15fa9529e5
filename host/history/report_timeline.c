// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/report_timeline.h"

#include <errno.h>
#include <stdlib.h>

static int read_cells(struct store *store, const struct report *report,
                      const struct timeline_span *span, struct timeline_cell **cells,
                      struct error *error)
{
    int rc = 0;

    *cells = calloc(report->n_guests * span->n_cells + 1, sizeof(**cells));
    if (!*cells)
        return error_set(error, -ENOMEM, "out of memory for the page");
    for (size_t g = 0; rc == 0 && g < report->n_guests; g++)
        rc = timeline_read(store, &report->guests[g].guest, span, *cells + g * span->n_cells,
                           error);
    return rc;
}

int report_timeline(struct store *store, const struct report *report, struct timeline_span *span,
                    struct timeline_cell **cells, struct error *error)
{
    int rc = timeline_span(store, report->from_s, report->to_s, report->options.window_s, span,
                           error);

    *cells = NULL;
    if (rc == 0)
        rc = read_cells(store, report, span, cells, error);
    if (rc < 0) {
        free(*cells);
        *cells = NULL;
    }
    return rc;
}
