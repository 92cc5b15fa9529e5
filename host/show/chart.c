// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file chart.c  See chart.h. */
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

#define BLUE "#0969da"
#define GREEN "#1a7f37"

struct canvas {
    struct svg *svg;
    const struct chart *chart;
    double x_min, x_max; /* as drawn: the logarithm where the axis is logarithmic */
    double y_max;
};

/* --- where things are ------------------------------------------------------------------------- */

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

/* The next of 1, 2, 5 times a power of ten. */
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

    for (size_t i = 0; i < chart->n; i++)
        y_max = fmax(y_max, chart->points[i].high);
    canvas->y_max = y_max > 0 ? y_max * 1.05 : 1;
    canvas->x_min = axis_value(chart, chart->points[0].x);
    canvas->x_max = axis_value(chart, chart->points[chart->n - 1].x);
}

/* --- the picture ------------------------------------------------------------------------------ */

static void draw_y_axis(struct canvas *canvas)
{
    double step = round_step(canvas->y_max / 5);
    char text[32];

    for (int i = 0; i * step <= canvas->y_max; i++) {
        double y = y_of(canvas, i * step);

        svg_line(canvas->svg, LEFT, y, WIDTH - RIGHT, y, SVG_FAINT, NULL);
        snprintf(text, sizeof(text), "%g", i * step);
        svg_label(canvas->svg, LEFT - 8, y + 4, "end", 12, text);
    }
}

/* As many labels as there is room for. */
static void draw_x_labels(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;
    double last = -WIDTH;

    for (size_t i = 0; i < chart->n; i++) {
        double x = middle_of(canvas, i);

        if (!chart->points[i].label || x - last < 48)
            continue;
        svg_label(canvas->svg, x, HEIGHT - BOTTOM + 18, "middle", 12, chart->points[i].label);
        last = x;
    }
}

static void draw_frame(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;

    svg_rectangle(canvas->svg, 0, 0, WIDTH, HEIGHT, "#ffffff");
    svg_label(canvas->svg, LEFT, 24, "start", 16, chart->title);
    svg_label(canvas->svg, LEFT, 44, "start", 12, chart->subtitle);
    draw_y_axis(canvas);
    svg_line(canvas->svg, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, SVG_INK, NULL);
    draw_x_labels(canvas);
    svg_label(canvas->svg, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "middle", 12, chart->x_title);
    svg_label(canvas->svg, LEFT - 8, TOP - 4, "end", 12, chart->y_title);
    if (chart->top > 0) {
        double y = y_of(canvas, chart->top);

        svg_line(canvas->svg, LEFT, y, WIDTH - RIGHT, y, SVG_INK, "4 4");
        svg_label(canvas->svg, WIDTH - RIGHT, y - 6, "end", 12, chart->top_label);
    }
}

static void draw_band(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;

    svg_begin(canvas->svg, "polygon");
    svg_text_attribute(canvas->svg, "fill", BLUE);
    svg_text_attribute(canvas->svg, "fill-opacity", "0.2");
    svg_keep(canvas->svg, xmlTextWriterStartAttribute(canvas->svg->out, BAD_CAST "points"));
    for (size_t i = 0; i < chart->n; i++)
        svg_keep(canvas->svg, xmlTextWriterWriteFormatString(canvas->svg->out, "%.1f,%.1f ",
                                                             middle_of(canvas, i),
                                                             y_of(canvas, chart->points[i].high)));
    for (size_t i = chart->n; i-- > 0;)
        svg_keep(canvas->svg, xmlTextWriterWriteFormatString(canvas->svg->out, "%.1f,%.1f ",
                                                             middle_of(canvas, i),
                                                             y_of(canvas, chart->points[i].low)));
    svg_keep(canvas->svg, xmlTextWriterEndAttribute(canvas->svg->out));
    svg_end(canvas->svg);
}

static void draw_curve(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;

    draw_band(canvas);
    svg_begin(canvas->svg, "polyline");
    svg_text_attribute(canvas->svg, "fill", "none");
    svg_text_attribute(canvas->svg, "stroke", BLUE);
    svg_text_attribute(canvas->svg, "stroke-width", "2");
    svg_keep(canvas->svg, xmlTextWriterStartAttribute(canvas->svg->out, BAD_CAST "points"));
    for (size_t i = 0; i < chart->n; i++)
        svg_keep(canvas->svg, xmlTextWriterWriteFormatString(canvas->svg->out, "%.1f,%.1f ",
                                                             middle_of(canvas, i),
                                                             y_of(canvas, chart->points[i].y)));
    svg_keep(canvas->svg, xmlTextWriterEndAttribute(canvas->svg->out));
    svg_end(canvas->svg);
    for (size_t i = 0; i < chart->n; i++)
        svg_rectangle(canvas->svg, middle_of(canvas, i) - 2.5,
                      y_of(canvas, chart->points[i].y) - 2.5, 5, 5, BLUE);
}

static void draw_bars(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;
    double width = bar_width(canvas) * 0.7;

    for (size_t i = 0; i < chart->n; i++) {
        const struct chart_point *point = &chart->points[i];
        double x = middle_of(canvas, i);
        double y = y_of(canvas, point->y);

        svg_rectangle(canvas->svg, x - width / 2, y, width, HEIGHT - BOTTOM - y, GREEN);
        svg_line(canvas->svg, x, y_of(canvas, point->low), x, y_of(canvas, point->high), SVG_INK,
                 NULL);
        svg_line(canvas->svg, x - 5, y_of(canvas, point->low), x + 5, y_of(canvas, point->low),
                 SVG_INK, NULL);
        svg_line(canvas->svg, x - 5, y_of(canvas, point->high), x + 5, y_of(canvas, point->high),
                 SVG_INK, NULL);
    }
}

static void draw(struct svg *svg, const void *chart)
{
    struct canvas canvas = {.svg = svg, .chart = chart};

    fit(&canvas);
    draw_frame(&canvas);
    if (canvas.chart->bars)
        draw_bars(&canvas);
    else
        draw_curve(&canvas);
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

int chart_check(const char *path, struct error *error)
{
    int rc = writable(path);

    return rc < 0 ? error_set(error, rc, "--svg %s: %s", path, strerror(-rc)) : 0;
}

int chart_write(const struct chart *chart, const char *path, struct error *error)
{
    const struct svg_picture picture = {WIDTH, HEIGHT, draw, chart};

    return chart->n > 0 ? svg_write(&picture, path, error)
                        : error_set(error, -ENODATA, "%s: nothing to draw", path);
}
