// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file html_chart.h  Pictures of a timeline for a page: curves with a band, ages as a heat map,
 * and strips of flags and gaps.
 *
 * Theory of operation. Each is inline SVG of one unit a cell in width, stretched to its place by
 * the page's style, so that it needs no script and prints; labels are HTML beside it. Curves are
 * steps in thousandths of the height: the page's script reads the values back from them for the
 * pointer and for tables, so that no number is in the page twice. Colours are classes of
 * the style (html_page.css), which has them for light and dark.
 */
#pragma once

#include "history/timeline.h"

#include <stdio.h>

enum html_unit { HTML_BYTES, HTML_BYTES_PER_SECOND, HTML_SHARE };

struct html_series {
    const char *style; /* its class: "wss" */
    const char *label;
    size_t offset; /* of a double in struct timeline_cell */
};

struct html_chart {
    const char *title;
    const char *name; /* of the guest, or of the host */
    enum html_unit unit;
    bool band; /* low .. high */
    size_t n;
    const struct html_series *series; /* those without any value are left out */
    double least_top;                 /* the height is at least that */
};

/** Is there any value of it? */
bool html_chart_has_any(const struct timeline_span *span, const struct timeline_cell *cells,
                        const struct html_chart *chart);

/** Writes a figure. */
void html_chart(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
                const struct html_chart *chart);

/** How long ago memory was touched, over time, as shares of what was resident. */
void html_heat(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
               const char *name);

/** A strip for times without a record, without a measurement, and of each flag. */
void html_strips(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
                 const char *name);

/** Labels below a figure: days, or hours. */
void html_time_axis(FILE *out, const struct timeline_span *span);

/** "1.2 GiB", "3.4 %"; as the table of what is at a time. */
char *html_value(char *text, size_t size, enum html_unit unit, double value);
