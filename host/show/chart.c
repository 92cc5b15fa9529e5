// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/chart.h"

#include "base/cleanup.h"
#include "show/svg.h"

#include <errno.h>
#include <libgen.h>
#include <libxml/xmlwriter.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WIDTH 720.0
#define HEIGHT 400.0
#define LEFT 70.0
#define RIGHT 20.0
#define TOP 60.0
#define BOTTOM 60.0
#define LEGEND_LINE 18.0

#define GREEN "#1a7f37"
#define RED "#cf222e"

#define LETTER 7.5  /* maximum width of a letter of size 12 */
#define MAX_DOTS 60 /* with more points, dots would hide the line */
#define MARK_LINES 4

/* A single curve has the same colour in all pictures. Several curves have the colours of Okabe and
 * Ito, "Color Universal Design", 2008, which most colour-blind people can distinguish, but not
 * their yellow, which is faint on white. */
static const char *const colours[CHART_CURVES] = {
    "#0969da", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#808080",
};

struct canvas {
    struct svg *svg;
    const struct chart *chart;
    double x_min, x_max; /* on the drawn scale: logarithms if the axis is logarithmic */
    double y_max;
};

/* Returns the height, including the legend. */
static double height_of(const struct chart *chart)
{
    const size_t lines = chart->n_more / 2 + 1;

    return chart->n_more > 0 ? HEIGHT + LEGEND_LINE * (double)lines + 4 : HEIGHT;
}

/* --- layout ----------------------------------------------------------------------------------- */

static double axis_value(const struct chart *chart, double x)
{
    return chart->log_x ? log2(x) : x;
}

static double x_of(const struct canvas *canvas, double x)
{
    double span = canvas->x_max - canvas->x_min;
    double at = span > 0 ? (axis_value(canvas->chart, x) - canvas->x_min) / span : 0.5;

    return LEFT + at * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct canvas *canvas, double y)
{
    return HEIGHT - BOTTOM - y / canvas->y_max * (HEIGHT - TOP - BOTTOM);
}

static double bar_width(const struct canvas *canvas)
{
    return (WIDTH - LEFT - RIGHT) / (double)canvas->chart->n;
}

static double middle_of(const struct canvas *canvas, size_t i)
{
    return canvas->chart->bars ? LEFT + ((double)i + 0.5) * bar_width(canvas)
                               : x_of(canvas, canvas->chart->points[i].x);
}

/* Returns curve number @p c. */
static struct chart_curve curve_of(const struct chart *chart, size_t c)
{
    return c == 0 ? (struct chart_curve){chart->label, chart->n, chart->points}
                  : chart->more[c - 1];
}

/* Returns the next of 1, 2, 5 times a power of ten. */
static double round_step(double step)
{
    double power = pow(10, floor(log10(step)));
    double digit = step / power;

    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static void fit(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;
    double y_max = chart->top;

    canvas->x_min = axis_value(chart, chart->points[0].x);
    canvas->x_max = axis_value(chart, chart->points[chart->n - 1].x);
    for (size_t c = 0; c <= chart->n_more; c++) {
        const struct chart_curve curve = curve_of(chart, c);

        for (size_t i = 0; i < curve.n; i++)
            y_max = fmax(
                y_max, fmax(curve.points[i].high, chart->other_label ? curve.points[i].other : 0));
        canvas->x_min = fmin(canvas->x_min, axis_value(chart, curve.points[0].x));
        canvas->x_max = fmax(canvas->x_max, axis_value(chart, curve.points[curve.n - 1].x));
    }
    canvas->y_max = y_max > 0 ? y_max * 1.05 : 1;
}

/* --- the picture ------------------------------------------------------------------------------ */

static void draw_y_axis(struct canvas *canvas)
{
    double step = round_step(canvas->y_max / 5);
    char text[32];

    for (int i = 0; i * step <= canvas->y_max; i++) {
        double y = y_of(canvas, i * step);

        svg_line(canvas->svg, LEFT, y, WIDTH - RIGHT, y, (struct svg_stroke){.colour = SVG_FAINT});
        snprintf(text, sizeof(text), "%g", i * step);
        svg_label(canvas->svg, LEFT - 8, y + 4, "end", 12, text);
    }
}

/* Draws as many labels as fit. */
static void draw_x_labels(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;
    double last = -WIDTH;

    for (size_t i = 0; i < chart->n; i++) {
        double x = middle_of(canvas, i);

        if (!chart->points[i].label ||
            x - last < fmax(48, LETTER * (double)strlen(chart->points[i].label)))
            continue;
        svg_label(canvas->svg, x, HEIGHT - BOTTOM + 18, "middle", 12, chart->points[i].label);
        last = x;
    }
}

static void draw_frame(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;

    svg_rectangle(canvas->svg, 0, 0, WIDTH, height_of(chart), "#ffffff");
    svg_label_within(canvas->svg, LEFT, 24, WIDTH - LEFT - RIGHT, 16, chart->title);
    svg_label_within(canvas->svg, LEFT, 44, WIDTH - LEFT - RIGHT, 12, chart->subtitle);
    draw_y_axis(canvas);
    svg_line(canvas->svg, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM,
             (struct svg_stroke){.colour = SVG_INK});
    draw_x_labels(canvas);
    svg_label(canvas->svg, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "middle", 12, chart->x_title);
    svg_label(canvas->svg, LEFT - 8, TOP - 4, "end", 12, chart->y_title);
    if (chart->top > 0) {
        double y = y_of(canvas, chart->top);

        svg_line(canvas->svg, LEFT, y, WIDTH - RIGHT, y,
                 (struct svg_stroke){.colour = SVG_INK, "4 4"});
        svg_label(canvas->svg, WIDTH - RIGHT, y - 6, "end", 12, chart->top_label);
    }
}

static void begin_points(struct svg *svg)
{
    svg_keep(svg, xmlTextWriterStartAttribute(svg->out, BAD_CAST "points"));
}

static void put_point(struct canvas *canvas, double x, double y)
{
    svg_keep(canvas->svg, xmlTextWriterWriteFormatString(canvas->svg->out, "%.1f,%.1f ",
                                                         x_of(canvas, x), y_of(canvas, y)));
}

static void end_points(struct svg *svg)
{
    svg_keep(svg, xmlTextWriterEndAttribute(svg->out));
    svg_end(svg);
}

static void draw_band(struct canvas *canvas, const struct chart_point *points, size_t n,
                      const char *colour)
{
    svg_begin(canvas->svg, "polygon");
    svg_text_attribute(canvas->svg, "fill", colour);
    svg_text_attribute(canvas->svg, "fill-opacity", "0.2");
    begin_points(canvas->svg);
    for (size_t i = 0; i < n; i++)
        put_point(canvas, points[i].x, points[i].high);
    for (size_t i = n; i-- > 0;)
        put_point(canvas, points[i].x, points[i].low);
    end_points(canvas->svg);
}

static void begin_line(struct svg *svg, const char *colour, const char *width)
{
    svg_begin(svg, "polyline");
    svg_text_attribute(svg, "fill", "none");
    svg_text_attribute(svg, "stroke", colour);
    svg_text_attribute(svg, "stroke-width", width);
    begin_points(svg);
}

/* Draws the curve between two gaps. */
static void draw_stretch(struct canvas *canvas, const struct chart_point *points, size_t n,
                         const char *colour)
{
    draw_band(canvas, points, n, colour);
    begin_line(canvas->svg, colour, "2");
    for (size_t i = 0; i < n; i++)
        put_point(canvas, points[i].x, points[i].y);
    end_points(canvas->svg);
    if (!canvas->chart->other_label)
        return;
    begin_line(canvas->svg, SVG_INK, "1");
    for (size_t i = 0; i < n; i++)
        put_point(canvas, points[i].x, points[i].other);
    end_points(canvas->svg);
}

/* Distributes labels of neighbouring marks over several lines. */
static void draw_marks(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;

    for (size_t m = 0; m < chart->n_marks; m++) {
        const double x = x_of(canvas, chart->marks[m].x);
        const double y = TOP + 12 + 14 * (double)(m % MARK_LINES);

        svg_line(canvas->svg, x, TOP, x, HEIGHT - BOTTOM, (struct svg_stroke){RED, "2 3"});
        svg_label(canvas->svg, x < WIDTH / 2 ? x + 3 : x - 3, y, x < WIDTH / 2 ? "start" : "end",
                  11, chart->marks[m].label);
    }
}

static void draw_curve(struct canvas *canvas, const struct chart_curve *curve, const char *colour)
{
    const struct chart_point *points = curve->points;
    size_t first = 0;

    for (size_t i = 1; i <= curve->n; i++)
        if (i == curve->n || points[i].after_gap) {
            draw_stretch(canvas, &points[first], i - first, colour);
            first = i;
        }
    for (size_t i = 0; i < curve->n && curve->n <= MAX_DOTS; i++)
        svg_rectangle(canvas->svg, x_of(canvas, points[i].x) - 2.5, y_of(canvas, points[i].y) - 2.5,
                      5, 5, colour);
}

/* The legend is below the axis, where it hides no curve, with two entries per line. */
static void draw_legend(struct canvas *canvas)
{
    const double width = (WIDTH - LEFT - RIGHT) / 2;

    for (size_t c = 0; c <= canvas->chart->n_more; c++) {
        const size_t line = c / 2;
        const double x = LEFT + (double)(c % 2) * width;
        const double y = HEIGHT + LEGEND_LINE * (double)line + 8;

        svg_rectangle(canvas->svg, x, y - 9, 14, 10, colours[c]);
        svg_label_within(canvas->svg, x + 20, y, width - 28, 12, curve_of(canvas->chart, c).label);
    }
}

static void draw_curves(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;

    for (size_t c = 0; c <= chart->n_more; c++) {
        const struct chart_curve curve = curve_of(chart, c);

        draw_curve(canvas, &curve, colours[c]);
    }
    if (chart->n_more > 0)
        draw_legend(canvas);
    if (chart->other_label)
        svg_label(canvas->svg, WIDTH - RIGHT, y_of(canvas, chart->points[chart->n - 1].other) + 14,
                  "end", 12, chart->other_label);
    draw_marks(canvas);
}

/* Draws bars number @p c of all groups. */
static void draw_series(struct canvas *canvas, size_t c)
{
    const struct chart_curve curve = curve_of(canvas->chart, c);
    const size_t n = canvas->chart->n_more + 1;
    const double width = bar_width(canvas) * 0.7 / (double)n;
    const char *colour = n > 1 ? colours[c] : GREEN;

    for (size_t i = 0; i < curve.n; i++) {
        const struct chart_point *point = &curve.points[i];
        double x = middle_of(canvas, i) + ((double)c - (double)(n - 1) / 2) * width;
        double y = y_of(canvas, point->y);

        svg_rectangle(canvas->svg, x - width / 2, y, width, HEIGHT - BOTTOM - y, colour);
        svg_line(canvas->svg, x, y_of(canvas, point->low), x, y_of(canvas, point->high),
                 (struct svg_stroke){.colour = SVG_INK});
        svg_line(canvas->svg, x - 5, y_of(canvas, point->low), x + 5, y_of(canvas, point->low),
                 (struct svg_stroke){.colour = SVG_INK});
        svg_line(canvas->svg, x - 5, y_of(canvas, point->high), x + 5, y_of(canvas, point->high),
                 (struct svg_stroke){.colour = SVG_INK});
    }
}

static void draw_bars(struct canvas *canvas)
{
    for (size_t c = 0; c <= canvas->chart->n_more; c++)
        draw_series(canvas, c);
    if (canvas->chart->n_more > 0)
        draw_legend(canvas);
}

static void draw_chart(struct svg *svg, const void *chart)
{
    struct canvas canvas = {.svg = svg, .chart = chart};

    fit(&canvas);
    draw_frame(&canvas);
    if (canvas.chart->bars)
        draw_bars(&canvas);
    else
        draw_curves(&canvas);
}

static int directory_writable(const char *path)
{
    cleanup_free char *copy = strdup(path);

    if (!copy)
        return -ENOMEM;
    return access(dirname(copy), W_OK | X_OK) == 0 ? 0 : -errno;
}

static int writable(const char *path)
{
    struct stat status;

    if (!*path)
        return -ENOENT;
    if (stat(path, &status) < 0)
        return errno == ENOENT ? directory_writable(path) : -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    return access(path, W_OK) == 0 ? 0 : -errno;
}

int chart_check(const char *option, const char *path, struct error *error)
{
    int rc = writable(path);

    return rc < 0 ? error_set(error, rc, "%s %s: %s", option, path, strerror(-rc)) : 0;
}

int chart_write(const struct chart *chart, const char *path, struct error *error)
{
    const struct svg_picture picture = {WIDTH, height_of(chart), draw_chart, chart};

    return chart->n > 0 ? svg_write(&picture, path, error)
                        : error_set(error, -ENODATA, "%s: nothing to draw", path);
}
