// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file html_chart.h  Pictures of a timeline for a page: curves with a band, ages as a heat map,
 * and strips of flags and gaps.
 *
 * Theory of operation. Each picture is inline SVG in which a cell is one unit wide; the page's
 * style stretches it to its place, so that it needs no script and can be printed. Labels are HTML
 * beside it. Curves are steps in thousandths of the height: the page's script reads the values back
 * from them for the pointer and for tables, so that the page contains each number once. Colours are
 * classes of the style (html_page.css), which defines them for light and dark.
 */
#pragma once

#include "history/timeline.h"

#include <stdio.h>

enum html_unit { HTML_BYTES, HTML_BYTES_PER_SECOND, HTML_SHARE };

struct html_series {
    const char *style; /* its CSS class: "wss" */
    const char *label;
    size_t offset; /* offset of a double in struct timeline_cell */
};

struct html_chart {
    const char *title;
    const char *name; /* name of the guest, or of the host */
    enum html_unit unit;
    bool band; /* also draw the band low .. high */
    size_t n;
    const struct html_series *series; /* series without any value are left out */
    double least_top;                 /* minimum height of the axis */
};

/** Returns true if any series has a value. */
bool html_chart_has_any(const struct timeline_span *span, const struct timeline_cell *cells,
                        const struct html_chart *chart);

/** Writes a figure. */
void html_chart(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
                const struct html_chart *chart);

/** Draws the time since memory was touched, over time, as shares of resident memory. */
void html_heat(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
               const char *name);

/** Draws a strip for times without a record, for times without a measurement, and for each flag. */
void html_strips(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
                 const char *name);

/** Writes labels below a figure: days, or hours. */
void html_time_axis(FILE *out, const struct timeline_span *span);

/** "1.2 GiB", "3.4 %"; as in the page's table of the values at one time. */
char *html_value(char *text, size_t size, enum html_unit unit, double value);
