// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file svg.h  Lines, rectangles and text as SVG, for chart.h and ram_map.h.
 *
 * It uses libxml2's text writer, which every build already has, and which escapes domain names. A
 * plotting library would bring fonts and X libraries to the hypervisor for a few simple pictures.
 */
#pragma once

#include "base/error.h"

#include <libxml/xmlwriter.h>
#include <stdbool.h>

#define SVG_INK "#24292f"
#define SVG_FAINT "#d0d7de"

struct svg {
    xmlTextWriter *out;
    bool failed; /* out of memory */
};

/** Notes the return value of a libxml2 function. */
void svg_keep(struct svg *svg, int rc);

/** Write the start of an element, its attributes, its end. */
void svg_begin(struct svg *svg, const char *name);
void svg_end(struct svg *svg);
void svg_text_attribute(struct svg *svg, const char *name, const char *value);
void svg_number_attribute(struct svg *svg, const char *name, double value);

struct svg_stroke {
    const char *colour;
    const char *dash; /* as stroke-dasharray; NULL: solid */
};

/** Write whole elements. @p anchor: "start", "middle", "end"; @p text may be any bytes. */
void svg_line(struct svg *svg, double x1, double y1, double x2, double y2,
              struct svg_stroke stroke);
void svg_rectangle(struct svg *svg, double x, double y, double width, double height,
                   const char *colour);
void svg_label(struct svg *svg, double x, double y, const char *anchor, int size, const char *text);

/** Writes a label that begins at @p x. If its estimated width (the font is not known) exceeds @p
 * width, the label is compressed, not truncated. */
void svg_label_within(struct svg *svg, double x, double y, double width, int size,
                      const char *text);

struct svg_picture {
    double width, height;
    void (*draw)(struct svg *svg, const void *context);
    const void *context;
};

/** Writes @p path by whole_file_write(). Returns 0, -ENOMEM, or the error of the file, with the
 * message. */
int svg_write(const struct svg_picture *picture, const char *path, struct error *error);
