// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file chart.c  See chart.h. */
#include "show/chart.h"

#include "base/cleanup.h"

#include <errno.h>
#include <libgen.h>
#include <libxml/chvalid.h>
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

#define INK "#24292f"
#define FAINT "#d0d7de"
#define BLUE "#0969da"
#define GREEN "#1a7f37"

struct canvas {
    xmlTextWriter *out;
    const struct chart *chart;
    double x_min, x_max; /* as drawn: the logarithm where the axis is logarithmic */
    double y_max;
    bool failed;
};

/* --- elements --------------------------------------------------------------------------------- */

static void keep(struct canvas *canvas, int rc)
{
    canvas->failed |= rc < 0;
}

static void begin(struct canvas *canvas, const char *name)
{
    keep(canvas, xmlTextWriterStartElement(canvas->out, BAD_CAST name));
}

static void end(struct canvas *canvas)
{
    keep(canvas, xmlTextWriterEndElement(canvas->out));
}

static void text_attribute(struct canvas *canvas, const char *name, const char *value)
{
    keep(canvas, xmlTextWriterWriteAttribute(canvas->out, BAD_CAST name, BAD_CAST value));
}

static void number_attribute(struct canvas *canvas, const char *name, double value)
{
    keep(canvas, xmlTextWriterWriteFormatAttribute(canvas->out, BAD_CAST name, "%.1f", value));
}

static void line(struct canvas *canvas, double x1, double y1, double x2, double y2,
                 const char *colour, const char *dash)
{
    begin(canvas, "line");
    number_attribute(canvas, "x1", x1);
    number_attribute(canvas, "y1", y1);
    number_attribute(canvas, "x2", x2);
    number_attribute(canvas, "y2", y2);
    text_attribute(canvas, "stroke", colour);
    if (dash)
        text_attribute(canvas, "stroke-dasharray", dash);
    end(canvas);
}

static void rectangle(struct canvas *canvas, double x, double y, double width, double height,
                      const char *colour)
{
    begin(canvas, "rect");
    number_attribute(canvas, "x", x);
    number_attribute(canvas, "y", y);
    number_attribute(canvas, "width", width);
    number_attribute(canvas, "height", height);
    text_attribute(canvas, "fill", colour);
    end(canvas);
}

/* A domain's name may hold anything; XML has no way to write control characters, nor what is not
 * UTF-8. */
static void write_text(struct canvas *canvas, const char *text)
{
    char clean[512];
    size_t n = 0;

    if (!xmlCheckUTF8(BAD_CAST text))
        text = "?";
    for (int length = 4; *text && n + 4 < sizeof(clean); text += length, length = 4) {
        int c = xmlGetUTF8Char(BAD_CAST text, &length);
        bool fine = c >= 0x20 && c != 0x7f && xmlIsCharQ((unsigned int)c);

        memcpy(&clean[n], fine ? text : "?", fine ? (size_t)length : 1);
        n += fine ? (size_t)length : 1;
    }
    clean[n] = '\0';
    keep(canvas, xmlTextWriterWriteString(canvas->out, BAD_CAST clean));
}

static void label(struct canvas *canvas, double x, double y, const char *anchor, int size,
                  const char *text)
{
    begin(canvas, "text");
    number_attribute(canvas, "x", x);
    number_attribute(canvas, "y", y);
    text_attribute(canvas, "text-anchor", anchor);
    number_attribute(canvas, "font-size", size);
    text_attribute(canvas, "fill", INK);
    write_text(canvas, text);
    end(canvas);
}

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

        line(canvas, LEFT, y, WIDTH - RIGHT, y, FAINT, NULL);
        snprintf(text, sizeof(text), "%g", i * step);
        label(canvas, LEFT - 8, y + 4, "end", 12, text);
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
        label(canvas, x, HEIGHT - BOTTOM + 18, "middle", 12, chart->points[i].label);
        last = x;
    }
}

static void draw_frame(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;

    rectangle(canvas, 0, 0, WIDTH, HEIGHT, "#ffffff");
    label(canvas, LEFT, 24, "start", 16, chart->title);
    label(canvas, LEFT, 44, "start", 12, chart->subtitle);
    draw_y_axis(canvas);
    line(canvas, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, INK, NULL);
    draw_x_labels(canvas);
    label(canvas, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "middle", 12, chart->x_title);
    label(canvas, LEFT - 8, TOP - 4, "end", 12, chart->y_title);
    if (chart->top > 0) {
        double y = y_of(canvas, chart->top);

        line(canvas, LEFT, y, WIDTH - RIGHT, y, INK, "4 4");
        label(canvas, WIDTH - RIGHT, y - 6, "end", 12, chart->top_label);
    }
}

static void draw_band(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;

    begin(canvas, "polygon");
    text_attribute(canvas, "fill", BLUE);
    text_attribute(canvas, "fill-opacity", "0.2");
    keep(canvas, xmlTextWriterStartAttribute(canvas->out, BAD_CAST "points"));
    for (size_t i = 0; i < chart->n; i++)
        keep(canvas, xmlTextWriterWriteFormatString(canvas->out, "%.1f,%.1f ", middle_of(canvas, i),
                                                    y_of(canvas, chart->points[i].high)));
    for (size_t i = chart->n; i-- > 0;)
        keep(canvas, xmlTextWriterWriteFormatString(canvas->out, "%.1f,%.1f ", middle_of(canvas, i),
                                                    y_of(canvas, chart->points[i].low)));
    keep(canvas, xmlTextWriterEndAttribute(canvas->out));
    end(canvas);
}

static void draw_curve(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;

    draw_band(canvas);
    begin(canvas, "polyline");
    text_attribute(canvas, "fill", "none");
    text_attribute(canvas, "stroke", BLUE);
    text_attribute(canvas, "stroke-width", "2");
    keep(canvas, xmlTextWriterStartAttribute(canvas->out, BAD_CAST "points"));
    for (size_t i = 0; i < chart->n; i++)
        keep(canvas, xmlTextWriterWriteFormatString(canvas->out, "%.1f,%.1f ", middle_of(canvas, i),
                                                    y_of(canvas, chart->points[i].y)));
    keep(canvas, xmlTextWriterEndAttribute(canvas->out));
    end(canvas);
    for (size_t i = 0; i < chart->n; i++)
        rectangle(canvas, middle_of(canvas, i) - 2.5, y_of(canvas, chart->points[i].y) - 2.5, 5, 5,
                  BLUE);
}

static void draw_bars(struct canvas *canvas)
{
    const struct chart *chart = canvas->chart;
    double width = bar_width(canvas) * 0.7;

    for (size_t i = 0; i < chart->n; i++) {
        const struct chart_point *point = &chart->points[i];
        double x = middle_of(canvas, i);
        double y = y_of(canvas, point->y);

        rectangle(canvas, x - width / 2, y, width, HEIGHT - BOTTOM - y, GREEN);
        line(canvas, x, y_of(canvas, point->low), x, y_of(canvas, point->high), INK, NULL);
        line(canvas, x - 5, y_of(canvas, point->low), x + 5, y_of(canvas, point->low), INK, NULL);
        line(canvas, x - 5, y_of(canvas, point->high), x + 5, y_of(canvas, point->high), INK, NULL);
    }
}

static void draw(struct canvas *canvas)
{
    keep(canvas, xmlTextWriterStartDocument(canvas->out, NULL, "UTF-8", NULL));
    begin(canvas, "svg");
    text_attribute(canvas, "xmlns", "http://www.w3.org/2000/svg");
    number_attribute(canvas, "width", WIDTH);
    number_attribute(canvas, "height", HEIGHT);
    keep(canvas, xmlTextWriterWriteFormatAttribute(canvas->out, BAD_CAST "viewBox", "0 0 %g %g",
                                                   WIDTH, HEIGHT));
    text_attribute(canvas, "font-family", "sans-serif");
    fit(canvas);
    draw_frame(canvas);
    if (canvas->chart->bars)
        draw_bars(canvas);
    else
        draw_curve(canvas);
    end(canvas);
    keep(canvas, xmlTextWriterEndDocument(canvas->out));
}

/* Into memory first: what libxml2 says of a full disk is less than what fwrite() does. */
static int render(const struct chart *chart, xmlBuffer *buffer)
{
    struct canvas canvas = {.chart = chart, .out = xmlNewTextWriterMemory(buffer, 0)};

    if (!canvas.out)
        return -ENOMEM;
    draw(&canvas);
    xmlFreeTextWriter(canvas.out);
    return canvas.failed ? -ENOMEM : 0;
}

static int write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "we");

    if (!file)
        return -errno;

    struct stat status;
    bool removable = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
    int rc = fwrite(text, 1, size, file) == size ? 0 : -errno;

    if (fclose(file) != 0 && rc == 0)
        rc = -errno;
    if (rc < 0 && removable)
        unlink(path);
    return rc;
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
    xmlBuffer *buffer = xmlBufferCreate();
    int rc = buffer && chart->n > 0 ? render(chart, buffer) : -ENOMEM;

    if (rc == 0)
        rc = write_file(path, (const char *)xmlBufferContent(buffer),
                        (size_t)xmlBufferLength(buffer));
    if (buffer)
        xmlBufferFree(buffer);
    return rc < 0 ? error_set(error, rc, "%s: %s", path, strerror(-rc)) : 0;
}
