// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_data.h  The data of the page of html_report.h. */
#pragma once

#include "history/report.h"
#include "history/timeline.h"

struct html_report {
    const struct report *report;
    const struct timeline_span *span;
    /* span->n_cells cells for each guest of the report, one guest after the other. */
    const struct timeline_cell *cells;
    double now_s; /* Unix time */
    bool served;  /* served by vmwss-exporter --web: adds links to its other pages */
};
