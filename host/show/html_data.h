// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_data.h  What the page of html_report.h shows. */
#pragma once

#include "history/report.h"
#include "history/timeline.h"

struct html_report {
    const struct report *report;
    const struct timeline_span *span;
    /* Of each guest of the report span->n_cells cells, one guest after the other. */
    const struct timeline_cell *cells;
    double now_s; /* Unix time */
    bool served;  /* by vmwss-exporter --web: with links to its other pages */
};
