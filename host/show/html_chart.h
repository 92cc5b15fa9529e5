// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file html_chart.h  Charts of a timeline for an HTML page: curves with a band, ages as a heat
 * map, and strips of flags and gaps.
 *
 * Theory of operation. Each chart is inline SVG in which a cell is one unit wide. The page's style
 * scales it to its place, so it needs no script and can be printed. Labels are HTML outside the
 * SVG. Curves are steps in thousandths of the height. The page's script reads values back from the
 * curves, for the pointer and for tables, so that the page contains each number once. Colours are
 * classes of the style (html_page.css), which defines them for light and dark mode.
 */
#pragma once

#include "history/timeline.h"

#include <stdio.h>

enum html_unit { HTML_BYTES, HTML_BYTES_PER_SECOND, HTML_SHARE };

struct html_series {
    const char *style; /* its CSS class, such as "wss" */
    const char *label;
    size_t offset; /* offset of a double in struct timeline_cell */
};

struct html_chart {
    const char *title;
    const char *name; /* name of the guest, or of the host */
    enum html_unit unit;
    bool band; /* also draw the band low .. high */
    size_t n;
    const struct html_series *series; /* series without any value are not drawn */
    double least_top;                 /* minimum height of the axis */
};

/** Returns true if any series has a value. */
bool html_chart_has_any(const struct timeline_span *span, const struct timeline_cell *cells,
                        const struct html_chart *chart);

/** Writes an HTML figure. */
void html_chart(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
                const struct html_chart *chart);

/** Draws the time since memory was last touched, as shares of resident memory, over time. */
void html_heat(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
               const char *name);

/** Draws strips that mark times without a record, times without a measurement, and each flag. */
void html_strips(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
                 const char *name);

/** Writes labels below a figure: days, or hours. */
void html_time_axis(FILE *out, const struct timeline_span *span);
