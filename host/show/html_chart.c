// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/html_chart.h"

#include "base/array.h"
#include "base/text/units.h"
#include "show/html.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* The height of a chart, in its own units. */
#define HEIGHT 1000

/* "1.2 GiB", "3.4 %", as in the page's table of values at a time. */
static char *value_text(char *text, size_t size, enum html_unit unit, double value)
{
    if (unit == HTML_SHARE)
        snprintf(text, size, "%.3g %%", 100 * value);
    else
        snprintf(text, size, "%s%s", BYTES_TEXT((uint64_t)fmax(value, 0)),
                 unit == HTML_BYTES ? "" : "/s");
    return text;
}

static double value_of(const struct timeline_cell *cell, const struct html_series *series)
{
    double value;

    memcpy(&value, (const char *)cell + series->offset, sizeof(value));
    return value;
}

/* --- the axes --------------------------------------------------------------------------------- */

/* Returns the distance between labels in whole cells, so that there are at most ten labels. */
static double label_step(const struct timeline_span *span)
{
    static const double steps_s[] = {60,    300,   600,   1800,   3600,  10800,
                                     21600, 43200, 86400, 172800, 604800};
    const double length_s = (double)span->n_cells * span->cell_s;
    const size_t n = COUNT(steps_s);

    for (size_t i = 0; i < n; i++)
        if (length_s / steps_s[i] <= 9)
            return steps_s[i];
    return 86400 * ceil(length_s / 86400 / 9);
}

/* The times that have a label and a grid line. */
struct ticks {
    double begin_s, step_s;
    size_t n;
};

static struct ticks ticks_of(const struct timeline_span *span)
{
    const double end_s = span->begin_s + (double)span->n_cells * span->cell_s;
    struct ticks ticks = {.step_s = label_step(span)};

    ticks.begin_s = ceil(span->begin_s / ticks.step_s) * ticks.step_s;
    ticks.n = (size_t)fmax(ceil((end_s - ticks.begin_s) / ticks.step_s), 0);
    return ticks;
}

/* Returns the position of tick @p i, in cells. */
static double tick_cell(const struct timeline_span *span, const struct ticks *ticks, size_t i)
{
    return (ticks->begin_s + (double)i * ticks->step_s - span->begin_s) / span->cell_s;
}

static void time_label(FILE *out, const struct timeline_span *span, const struct ticks *ticks,
                       size_t i)
{
    const time_t time_s = (time_t)(ticks->begin_s + (double)i * ticks->step_s);
    char text[32];
    struct tm utc;

    if (!gmtime_r(&time_s, &utc))
        return;
    strftime(text, sizeof(text), time_s % 86400 ? "%H:%M" : "%a %d", &utc);
    fprintf(out, "<span style=\"left:%.2f%%\">%s</span>",
            100 * tick_cell(span, ticks, i) / (double)span->n_cells, text);
}

void html_time_axis(FILE *out, const struct timeline_span *span)
{
    const struct ticks ticks = ticks_of(span);

    fputs("<div class=\"x\" aria-hidden=\"true\">", out);
    for (size_t i = 0; i < ticks.n; i++)
        time_label(out, span, &ticks, i);
    fputs("</div>", out);
}

/* Draws grid lines at the time labels, and at quarters of the height. */
static void grid(FILE *out, const struct timeline_span *span)
{
    const struct ticks ticks = ticks_of(span);

    fputs("<path class=\"grid\" d=\"", out);
    for (size_t i = 0; i < ticks.n; i++)
        fprintf(out, "M%g 0v%d", tick_cell(span, &ticks, i), HEIGHT);
    for (int quarter = 1; quarter < 4; quarter++)
        fprintf(out, "M0 %dh%zu", quarter * HEIGHT / 4, span->n_cells);
    fputs("\"/>", out);
}

/* Rounds up to a round number of bytes or percent. */
static double round_up(enum html_unit unit, double value)
{
    double unit_size = unit == HTML_SHARE ? 0.01 : 1;
    const double base = unit == HTML_SHARE ? 10 : 1024;
    static const double steps[] = {1,   1.5, 2,   3,   4,   6,   8,   10,  12,  16,
                                   20,  24,  32,  40,  48,  64,  80,  96,  128, 160,
                                   192, 256, 320, 384, 512, 640, 768, 1024};

    if (unit == HTML_SHARE && value > 0.4)
        return 1;
    while (value > base * unit_size)
        unit_size *= base;
    for (size_t i = 0; i < COUNT(steps); i++)
        if (value <= steps[i] * unit_size)
            return steps[i] * unit_size;
    return value;
}

static void y_axis(FILE *out, enum html_unit unit, double top)
{
    char text[32];

    fputs("<div class=\"y\" aria-hidden=\"true\">", out);
    for (int half = 2; half >= 0; half--)
        fprintf(out, "<span>%s</span>", value_text(text, sizeof(text), unit, top * half / 2));
    fputs("</div>", out);
}

/* --- curves ----------------------------------------------------------------------------------- */

static int height_of(double value, double top)
{
    return (int)lround(HEIGHT * (1 - fmin(fmax(value / top, 0), 1)));
}

/* Draws steps from cell to cell; unknown values interrupt them. */
struct steps {
    FILE *out;
    bool open;
    int y;
    unsigned run; /* cells to the right that have not been written yet */
};

static void steps_flush(struct steps *steps)
{
    if (steps->run > 0)
        fprintf(steps->out, "h%u", steps->run);
    steps->run = 0;
}

static void steps_to(struct steps *steps, size_t cell, double value, double top)
{
    int y;

    if (!isfinite(value)) {
        steps_flush(steps);
        steps->open = false;
        return;
    }
    y = height_of(value, top);
    if (!steps->open) {
        fprintf(steps->out, "M%zu %d", cell, y);
    } else if (y != steps->y) {
        steps_flush(steps);
        fprintf(steps->out, "v%d", y - steps->y);
    }
    steps->open = true;
    steps->y = y;
    steps->run++;
}

static void curve(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
                  const struct html_series *series, double top)
{
    struct steps steps = {.out = out};

    fprintf(out, "<path class=\"%s\" d=\"", series->style);
    for (size_t i = 0; i < span->n_cells; i++)
        steps_to(&steps, i, value_of(&cells[i], series), top);
    steps_flush(&steps);
    fputs("\"/>", out);
}

static bool has_band(const struct timeline_cell *cell)
{
    return isfinite(cell->low) && isfinite(cell->high);
}

/* Draws the upper bound forward, then the lower bound backward. */
static void band_piece(FILE *out, const struct timeline_cell *cells, size_t begin, size_t end,
                       double top)
{
    int y = height_of(cells[begin].high, top);

    fprintf(out, "M%zu %d", begin, y);
    for (size_t i = begin; i < end; i++) {
        int next = height_of(cells[i].high, top);

        if (next != y)
            fprintf(out, "v%d", next - y);
        fputs("h1", out);
        y = next;
    }
    for (size_t i = end; i > begin; i--) {
        int next = height_of(cells[i - 1].low, top);

        if (next != y)
            fprintf(out, "v%d", next - y);
        fputs("h-1", out);
        y = next;
    }
    fputc('z', out);
}

static void band(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
                 double top)
{
    fputs("<path class=\"band\" d=\"", out);
    for (size_t i = 0; i < span->n_cells; i++) {
        size_t begin = i;

        while (i < span->n_cells && has_band(&cells[i]))
            i++;
        if (i > begin)
            band_piece(out, cells, begin, i, top);
    }
    fputs("\"/>", out);
}

/* Marks cells without any record. */
static void gaps(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells)
{
    fputs("<path class=\"gap\" d=\"", out);
    for (size_t i = 0; i < span->n_cells; i++) {
        size_t begin = i;

        while (i < span->n_cells && !cells[i].recorded)
            i++;
        if (i > begin)
            fprintf(out, "M%zu 0h%zuv%dh-%zuz", begin, i - begin, HEIGHT, i - begin);
    }
    fputs("\"/>", out);
}

/* --- a figure --------------------------------------------------------------------------------- */

struct extent {
    size_t n;
    double last, least, most;
};

static struct extent extent_of(const struct timeline_span *span, const struct timeline_cell *cells,
                               const struct html_series *series)
{
    struct extent extent = {.least = HUGE_VAL, .most = -HUGE_VAL};

    for (size_t i = 0; i < span->n_cells; i++) {
        double value = value_of(&cells[i], series);

        if (!isfinite(value))
            continue;
        extent.n++;
        extent.last = value;
        extent.least = fmin(extent.least, value);
        extent.most = fmax(extent.most, value);
    }
    return extent;
}

bool html_chart_has_any(const struct timeline_span *span, const struct timeline_cell *cells,
                        const struct html_chart *chart)
{
    for (size_t s = 0; s < chart->n; s++)
        if (extent_of(span, cells, &chart->series[s]).n > 0)
            return true;
    return false;
}

static double top_of(const struct timeline_span *span, const struct timeline_cell *cells,
                     const struct html_chart *chart)
{
    double top = chart->least_top;

    for (size_t s = 0; s < chart->n; s++)
        top = fmax(top, extent_of(span, cells, &chart->series[s]).most);
    return round_up(chart->unit, fmax(top, chart->unit == HTML_SHARE ? 0.01 : 1024));
}

static void legend(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
                   const struct html_chart *chart)
{
    fprintf(out, "<figcaption>%s <span class=\"key\">", chart->title);
    for (size_t s = 0; s < chart->n; s++)
        if (extent_of(span, cells, &chart->series[s]).n > 0)
            fprintf(out, "<span class=\"%s\">%s</span>", chart->series[s].style,
                    chart->series[s].label);
    if (chart->band)
        fputs("<span class=\"band\">its 95 % interval</span>", out);
    fputs("</span></figcaption>", out);
}

/* Describes the chart in words, for screen readers. */
static void alternative(FILE *out, const struct timeline_span *span,
                        const struct timeline_cell *cells, const struct html_chart *chart)
{
    char text[3][48];

    fputs(" role=\"img\" aria-label=\"", out);
    html_text(out, chart->name);
    fprintf(out, ", %s.", chart->title);
    for (size_t s = 0; s < chart->n; s++) {
        const struct extent e = extent_of(span, cells, &chart->series[s]);

        if (e.n > 0)
            fprintf(out, " %s: %s to %s, %s last.", chart->series[s].label,
                    value_text(text[0], sizeof(text[0]), chart->unit, e.least),
                    value_text(text[1], sizeof(text[1]), chart->unit, e.most),
                    value_text(text[2], sizeof(text[2]), chart->unit, e.last));
    }
    fputc('"', out);
}

static const char *unit_name(enum html_unit unit)
{
    static const char *const names[] = {"bytes", "bytes/s", "share"};

    return names[unit];
}

void html_chart(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
                const struct html_chart *chart)
{
    const double top = top_of(span, cells, chart);

    fputs("<figure class=\"chart\">", out);
    legend(out, span, cells, chart);
    fprintf(out, "<div class=\"plot\" data-top=\"%.10g\" data-unit=\"%s\">", top,
            unit_name(chart->unit));
    y_axis(out, chart->unit, top);
    fprintf(out, "<svg viewBox=\"0 0 %zu %d\" preserveAspectRatio=\"none\"", span->n_cells, HEIGHT);
    alternative(out, span, cells, chart);
    fputc('>', out);
    gaps(out, span, cells);
    grid(out, span);
    if (chart->band)
        band(out, span, cells, top);
    for (size_t s = 0; s < chart->n; s++)
        if (extent_of(span, cells, &chart->series[s]).n > 0)
            curve(out, span, cells, &chart->series[s], top);
    fputs("</svg>", out);
    html_time_axis(out, span);
    fputs("</div></figure>\n", out);
}
