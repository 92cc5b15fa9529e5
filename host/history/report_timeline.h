// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file report_timeline.h  All guests of a report over time, for the HTML page. */
#pragma once

#include "history/report.h"
#include "history/timeline.h"

/**
 * Reads the timelines of report->guests, over the time and the window of the report.
 * @param cells  span->n_cells cells for each guest, one guest after the other; the caller frees
 *               them
 * @return 0; -ENOMEM; or the errors of timeline_span() and timeline_read(); after an error there
 *         are no cells
 */
int report_timeline(struct store *store, const struct report *report, struct timeline_span *span,
                    struct timeline_cell **cells, struct error *error);
