// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/svg.h"

#include "show/fit.h"
#include "show/whole_file.h"

#include <errno.h>
#include <libxml/chvalid.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Mean width of a letter relative to its size; it is 0.5 to 0.55 for the usual sans-serif fonts. */
#define LETTER 0.55

/* --- elements --------------------------------------------------------------------------------- */

void svg_keep(struct svg *svg, int rc)
{
    svg->failed |= rc < 0;
}

void svg_begin(struct svg *svg, const char *name)
{
    svg_keep(svg, xmlTextWriterStartElement(svg->out, BAD_CAST name));
}

void svg_end(struct svg *svg)
{
    svg_keep(svg, xmlTextWriterEndElement(svg->out));
}

void svg_text_attribute(struct svg *svg, const char *name, const char *value)
{
    svg_keep(svg, xmlTextWriterWriteAttribute(svg->out, BAD_CAST name, BAD_CAST value));
}

void svg_number_attribute(struct svg *svg, const char *name, double value)
{
    svg_keep(svg, xmlTextWriterWriteFormatAttribute(svg->out, BAD_CAST name, "%.1f", value));
}

void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, struct svg_stroke stroke)
{
    svg_begin(svg, "line");
    svg_number_attribute(svg, "x1", x1);
    svg_number_attribute(svg, "y1", y1);
    svg_number_attribute(svg, "x2", x2);
    svg_number_attribute(svg, "y2", y2);
    svg_text_attribute(svg, "stroke", stroke.colour);
    if (stroke.dash)
        svg_text_attribute(svg, "stroke-dasharray", stroke.dash);
    svg_end(svg);
}

void svg_rectangle(struct svg *svg, double x, double y, double width, double height,
                   const char *colour)
{
    svg_begin(svg, "rect");
    svg_number_attribute(svg, "x", x);
    svg_number_attribute(svg, "y", y);
    svg_number_attribute(svg, "width", width);
    svg_number_attribute(svg, "height", height);
    svg_text_attribute(svg, "fill", colour);
    svg_end(svg);
}

/* Replaces what XML cannot represent: control characters, and bytes that are not UTF-8. A domain's
 * name may contain anything. */
static void write_text(struct svg *svg, const char *text)
{
    char clean[2048];
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
    svg_keep(svg, xmlTextWriterWriteString(svg->out, BAD_CAST clean));
}

static void begin_label(struct svg *svg, double x, double y, const char *anchor, int size)
{
    svg_begin(svg, "text");
    svg_number_attribute(svg, "x", x);
    svg_number_attribute(svg, "y", y);
    svg_text_attribute(svg, "text-anchor", anchor);
    svg_number_attribute(svg, "font-size", size);
    svg_text_attribute(svg, "fill", SVG_INK);
}

void svg_label(struct svg *svg, double x, double y, const char *anchor, int size, const char *text)
{
    begin_label(svg, x, y, anchor, size);
    write_text(svg, text);
    svg_end(svg);
}

void svg_label_within(struct svg *svg, double x, double y, double width, int size, const char *text)
{
    begin_label(svg, x, y, "start", size);
    if (LETTER * size * (double)fit_text_width(text) > width) {
        svg_number_attribute(svg, "textLength", width);
        svg_text_attribute(svg, "lengthAdjust", "spacingAndGlyphs");
    }
    write_text(svg, text);
    svg_end(svg);
}

/* --- the file --------------------------------------------------------------------------------- */

static void draw_picture(struct svg *svg, const struct svg_picture *picture)
{
    svg_keep(svg, xmlTextWriterStartDocument(svg->out, NULL, "UTF-8", NULL));
    svg_begin(svg, "svg");
    svg_text_attribute(svg, "xmlns", "http://www.w3.org/2000/svg");
    svg_number_attribute(svg, "width", picture->width);
    svg_number_attribute(svg, "height", picture->height);
    svg_keep(svg, xmlTextWriterWriteFormatAttribute(svg->out, BAD_CAST "viewBox", "0 0 %g %g",
                                                    picture->width, picture->height));
    svg_text_attribute(svg, "font-family", "sans-serif");
    picture->draw(svg, picture->context);
    svg_end(svg);
    svg_keep(svg, xmlTextWriterEndDocument(svg->out));
}

/* Renders into memory first, because libxml2 reports less about a full disk than fwrite() does. */
static int render(const struct svg_picture *picture, xmlBuffer *buffer)
{
    struct svg svg = {.out = xmlNewTextWriterMemory(buffer, 0)};

    if (!svg.out)
        return -ENOMEM;
    draw_picture(&svg, picture);
    xmlFreeTextWriter(svg.out);
    return svg.failed ? -ENOMEM : 0;
}

int svg_write(const struct svg_picture *picture, const char *path, struct error *error)
{
    xmlBuffer *buffer = xmlBufferCreate();
    int rc = buffer ? render(picture, buffer) : -ENOMEM;

    if (rc < 0)
        error_set(error, rc, "%s: %s", path, strerror(-rc));
    else
        rc = whole_file_write(path, (const char *)xmlBufferContent(buffer),
                              (size_t)xmlBufferLength(buffer), error);
    if (buffer)
        xmlBufferFree(buffer);
    return rc;
}
