// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_heat.c  See html_chart.h: ages as a heat map, and strips of flags and gaps. */
#include "base/array.h"
#include "base/text/units.h"
#include "show/html.h"
#include "show/html_chart.h"

#include <math.h>
#include <string.h>

/* --- rows of cells ---------------------------------------------------------------------------- */

static void rows_begin(FILE *out, const struct timeline_span *span, const char *kind, size_t rows,
                       const char *name, const char *what)
{
    fprintf(out,
            "<svg class=\"%s\" viewBox=\"0 0 %zu %zu\" preserveAspectRatio=\"none\""
            " style=\"height:%.2frem\" role=\"img\" aria-label=\"",
            kind, span->n_cells, rows, 1.05 * (double)rows);
    html_text(out, name);
    fprintf(out, ", %s\">", what);
}

/* --- the heat map ----------------------------------------------------------------------------- */

/* Lower limits of the colours, as shares of resident memory; smaller shares have no colour. */
static const double levels[] = {0.005, 0.01, 0.02, 0.04, 0.07, 0.11, 0.17, 0.25, 0.35, 0.5, 0.7};

/* Returns the index of the colour; 0: almost no memory; COUNT(levels) + 1: unknown, for example
 * without a record. */
static size_t level_of(const struct timeline_cell *cell, size_t age)
{
    double share = cell->ages[age] / cell->resident;
    size_t level = 0;

    if (!cell->recorded || !isfinite(share))
        return COUNT(levels) + 1;
    while (level < COUNT(levels) && share >= levels[level])
        level++;
    return level;
}

static void draw_level(FILE *out, const struct timeline_span *span,
                       const struct timeline_cell *cells, size_t level)
{
    bool begun = false;

    for (size_t age = 0; age <= span->n_windows; age++)
        for (size_t i = 0; i < span->n_cells; i++) {
            size_t begin = i;

            while (i < span->n_cells && level_of(&cells[i], age) == level)
                i++;
            if (i == begin)
                continue;
            if (!begun)
                fprintf(out, "<path class=\"h%zu\" d=\"", level);
            begun = true;
            fprintf(out, "M%zu %zu.5h%zu", begin, age, i - begin);
        }
    if (begun)
        fputs("\"/>", out);
}

static void age_label(char *text, size_t size, const struct timeline_span *span, size_t age)
{
    char from[24] = "";
    char to[24] = "";

    if (age > 0)
        show_seconds_short(from, sizeof(from), span->windows_s[age - 1]);
    if (age < span->n_windows)
        show_seconds_short(to, sizeof(to), span->windows_s[age]);
    if (age == 0)
        snprintf(text, size, "up to %s", to);
    else if (age == span->n_windows)
        snprintf(text, size, "over %s", from);
    else
        snprintf(text, size, "%s – %s", from, to);
}

static void age_labels(FILE *out, const struct timeline_span *span)
{
    char text[64];

    fputs("<div class=\"rows\" aria-hidden=\"true\">", out);
    for (size_t age = 0; age <= span->n_windows; age++) {
        age_label(text, sizeof(text), span, age);
        fprintf(out, "<span>%s</span>", text);
    }
    fputs("</div>", out);
}

/* Writes the means over all cells, in words. */
static void heat_words(char *words, size_t size, const struct timeline_span *span,
                       const struct timeline_cell *cells)
{
    size_t used = (size_t)snprintf(words, size,
                                   "last touched, means of the share of what is "
                                   "resident:");
    char label[64];

    for (size_t age = 0; age <= span->n_windows; age++) {
        double sum = 0;
        size_t n = 0;

        for (size_t i = 0; i < span->n_cells; i++)
            if (isfinite(cells[i].ages[age] / cells[i].resident)) {
                sum += cells[i].ages[age] / cells[i].resident;
                n++;
            }
        age_label(label, sizeof(label), span, age);
        if (n > 0 && used < size)
            used += (size_t)snprintf(words + used, size - used, " %s ago %.1f %%;", label,
                                     100 * sum / (double)n);
    }
}

void html_heat(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
               const char *name)
{
    char words[1024];

    if (span->n_windows == 0)
        return;
    heat_words(words, sizeof(words), span, cells);
    fputs("<figure><figcaption>Last touched so long ago <span class=\"key scale\">less than 0.5 %",
          out);
    for (size_t level = 1; level <= COUNT(levels); level++)
        fprintf(out, "<i class=\"h%zu\"></i>", level);
    fputs("more than 70 % of what is resident</span></figcaption><div class=\"plot\">", out);
    age_labels(out, span);
    rows_begin(out, span, "heat", span->n_windows + 1, name, words);
    for (size_t level = 1; level <= COUNT(levels) + 1; level++)
        draw_level(out, span, cells, level);
    fputs("</svg>", out);
    html_time_axis(out, span);
    fputs("</div></figure>\n", out);
}

/* --- strips ----------------------------------------------------------------------------------- */

/* The strips: no record, then one for each flag. */
#define NO_RECORD (-1)

static bool is_in(const struct timeline_cell *cell, int strip)
{
    if (strip == NO_RECORD)
        return !cell->recorded;
    return cell->recorded && (cell->flags & (1U << strip));
}

static size_t cells_in(const struct timeline_span *span, const struct timeline_cell *cells,
                       int strip)
{
    size_t n = 0;

    for (size_t i = 0; i < span->n_cells; i++)
        n += is_in(&cells[i], strip);
    return n;
}

static const char *strip_name(int strip)
{
    return strip == NO_RECORD ? "no record" : sample_flag_name((unsigned)strip);
}

static void draw_strip(FILE *out, const struct timeline_span *span,
                       const struct timeline_cell *cells, int strip, size_t row)
{
    fprintf(out, "<path class=\"%s\" d=\"", strip == NO_RECORD ? "none" : "flag");
    for (size_t i = 0; i < span->n_cells; i++) {
        size_t begin = i;

        while (i < span->n_cells && is_in(&cells[i], strip))
            i++;
        if (i > begin)
            fprintf(out, "M%zu %zu.5h%zu", begin, row, i - begin);
    }
    fprintf(out, "\"><title>%s</title></path>", strip_name(strip));
}

void html_strips(FILE *out, const struct timeline_span *span, const struct timeline_cell *cells,
                 const char *name)
{
    int strips[40];
    char words[1024] = "gaps and flags, in how many of the cells of time:";
    size_t used = strlen(words);
    size_t n = 0;

    for (int strip = NO_RECORD; strip == NO_RECORD || sample_flag_name((unsigned)strip); strip++) {
        size_t in = cells_in(span, cells, strip);

        if (in == 0)
            continue;
        strips[n++] = strip;
        if (used < sizeof(words))
            used += (size_t)snprintf(words + used, sizeof(words) - used, " %s %zu of %zu;",
                                     strip_name(strip), in, span->n_cells);
    }
    if (n == 0)
        return;
    fputs("<figure><figcaption>Gaps, and flags that make numbers less certain</figcaption>"
          "<div class=\"plot\"><div class=\"rows\" aria-hidden=\"true\">",
          out);
    for (size_t s = 0; s < n; s++)
        fprintf(out, "<span>%s</span>", strip_name(strips[s]));
    fputs("</div>", out);
    rows_begin(out, span, "strips", n, name, words);
    for (size_t s = 0; s < n; s++)
        draw_strip(out, span, cells, strips[s], s);
    fputs("</svg>", out);
    html_time_axis(out, span);
    fputs("</div></figure>\n", out);
}
