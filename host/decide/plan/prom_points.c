// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prom_points.c  See prom_points.h. */
#include "decide/plan/prom_points.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a number --------------------------------------------------------------------------------- */

#define NUMBER_MAX 64

double prom_points_value(const char *text, size_t n)
{
    char copy[NUMBER_MAX];
    double value;
    char *end;

    if (n == 0 || n >= sizeof(copy) || text[0] == '+')
        return NAN;
    memcpy(copy, text, n);
    copy[n] = '\0';
    if (copy[strspn(copy, "0123456789+-.eE")] != '\0')
        return NAN;
    value = strtod(copy, &end);
    return end != copy && *end == '\0' && isfinite(value) ? value : NAN;
}

/* --- an array of points ----------------------------------------------------------------------- */

struct text {
    const char *at, *end;
};

static void skip_space(struct text *text)
{
    while (text->at < text->end &&
           (*text->at == ' ' || *text->at == '\n' || *text->at == '\t' || *text->at == '\r'))
        text->at++;
}

static bool take_char(struct text *text, char c)
{
    skip_space(text);
    if (text->at == text->end || *text->at != c)
        return false;
    text->at++;
    return true;
}

/* Takes the number up to the character, and that. */
static bool take_number(struct text *text, char until, double *value)
{
    const char *end;
    size_t n;

    skip_space(text);
    end = memchr(text->at, until, (size_t)(text->end - text->at));
    if (!end)
        return false;
    for (n = (size_t)(end - text->at); until == ',' && n > 0 && text->at[n - 1] == ' ';)
        n--;
    *value = prom_points_value(text->at, n);
    text->at = end + 1;
    return true;
}

static bool take_point(struct text *text, struct prom_point *point)
{
    return take_char(text, '[') && take_number(text, ',', &point->time_s) &&
           !isnan(point->time_s) && take_char(text, '"') && take_number(text, '"', &point->value) &&
           take_char(text, ']');
}

int prom_points_add(struct prom_points *points, size_t most, struct prom_point point)
{
    struct prom_point *all;

    if (points->n == most)
        return -E2BIG;
    all = array_grow(points->all, points->n, sizeof(*all));
    if (!all)
        return -ENOMEM;
    points->all = all;
    all[points->n++] = point;
    return 0;
}

static int end_array(struct prom_points *points)
{
    size_t *ends = array_grow(points->ends, points->n_arrays, sizeof(*ends));

    if (!ends)
        return -ENOMEM;
    points->ends = ends;
    ends[points->n_arrays++] = points->n;
    return 1;
}

/* Returns 1 if an array was read; 0 if the text does not have this form. */
static int read_array(struct text *text, size_t most, struct prom_points *points)
{
    const size_t before = points->n;
    struct prom_point point;

    if (!take_char(text, '['))
        return 0;
    if (take_char(text, ']'))
        return end_array(points);
    while (take_point(text, &point)) {
        int rc = prom_points_add(points, most, point);

        if (rc < 0)
            return rc;
        if (take_char(text, ']'))
            return end_array(points);
        if (!take_char(text, ','))
            break;
    }
    points->n = before;
    return 0;
}

/* --- the text --------------------------------------------------------------------------------- */

/* Returns the position behind the string that begins there. */
static const char *end_of_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : end;
}

static bool is_values(const char *from, const char *to)
{
    static const char key[] = "\"values\"";

    return to - from == sizeof(key) - 1 && memcmp(from, key, sizeof(key) - 1) == 0;
}

/* Copies everything except arrays of points to @p rest. */
static int cut(struct text text, size_t most, struct prom_points *points, FILE *rest)
{
    const char *from = text.at;

    while (text.at < text.end) {
        const char *begin = memchr(text.at, '"', (size_t)(text.end - text.at));
        struct text behind;
        const char *array;
        int rc;

        if (!begin)
            break;
        text.at = end_of_string(begin, text.end);
        behind = text;
        if (!is_values(begin, text.at) || !take_char(&behind, ':'))
            continue;
        array = behind.at;
        rc = read_array(&behind, most, points);
        if (rc < 0)
            return rc;
        if (rc == 0)
            continue;
        fwrite(from, 1, (size_t)(array - from), rest);
        fprintf(rest, "%zu", points->n_arrays - 1);
        from = text.at = behind.at;
    }
    fwrite(from, 1, (size_t)(text.end - from), rest);
    return 0;
}

int prom_points_cut(const char *bytes, size_t size, size_t most, struct prom_points *points,
                    char **rest, size_t *rest_size)
{
    const struct text text = {bytes, bytes + size};
    FILE *out;
    int rc;

    *points = (struct prom_points){0};
    *rest = NULL;
    out = open_memstream(rest, rest_size);
    if (!out)
        return -ENOMEM;
    rc = cut(text, most, points, out);
    return fclose(out) == 0 ? rc : -ENOMEM;
}

void prom_points_free(struct prom_points *points)
{
    free(points->all);
    free(points->ends);
    *points = (struct prom_points){0};
}
