// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prom_answer.c  See prom_answer.h. */
#include "plan/prom_answer.h"

#include "base/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- its size --------------------------------------------------------------------------------- */

/* Of a series: labels and what stands around them; of an answer: status, warnings, statistics. */
#define COMMAS_OF_SERIES 10
#define OF_ENVELOPE 10000

/* The parser makes a hundred bytes and more of each "{}": nothing is parsed that has more of them
 * than an answer within the limits. Strings may have any of these in them. */
static bool is_too_large(const char *bytes, size_t size)
{
    size_t objects = 0;
    size_t arrays = 0;
    size_t commas = 0;
    bool in_string = false;

    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '"')
            in_string = !in_string;
        else if (in_string)
            i += bytes[i] == '\\';
        else
            objects += bytes[i] == '{', arrays += bytes[i] == '[', commas += bytes[i] == ',';
    }
    return objects > 2 * PROM_SERIES_MAX + OF_ENVELOPE ||
           arrays > PROM_POINTS_MAX + PROM_SERIES_MAX + OF_ENVELOPE ||
           commas > 2 * PROM_POINTS_MAX + COMMAS_OF_SERIES * PROM_SERIES_MAX + OF_ENVELOPE;
}

/* --- the form --------------------------------------------------------------------------------- */

/* [time, "value"] */
static bool is_point(const json_t *point)
{
    return json_is_array(point) && json_array_size(point) == 2 &&
           json_is_number(json_array_get(point, 0)) && json_is_string(json_array_get(point, 1));
}

static bool are_labels(json_t *metric)
{
    const char *name;
    json_t *value;

    if (!json_is_object(metric))
        return false;
    json_object_foreach(metric, name, value) if (!json_is_string(value)) return false;
    return true;
}

/* Of a vector {"metric": {}, "value": point}, of a matrix {"metric": {}, "values": [point, ...]}.
 * -EPROTO: neither. */
static ssize_t check_series(const json_t *series)
{
    const json_t *points = json_object_get(series, "values");
    const json_t *point;
    size_t i;

    if (!are_labels(json_object_get(series, "metric")))
        return -EPROTO;
    if (is_point(json_object_get(series, "value")))
        return points ? -EPROTO : 1;
    if (!json_is_array(points) || json_object_get(series, "value"))
        return -EPROTO;
    json_array_foreach(points, i, point) if (!is_point(point)) return -EPROTO;
    return (ssize_t)json_array_size(points);
}

static int check_result(const json_t *result)
{
    const json_t *series;
    size_t points = 0;
    size_t i;

    if (!json_is_array(result))
        return -EPROTO;
    if (json_array_size(result) > PROM_SERIES_MAX)
        return -E2BIG;
    json_array_foreach(result, i, series)
    {
        const ssize_t n = check_series(series);

        if (n < 0)
            return (int)n;
        points += (size_t)n;
    }
    return points > PROM_POINTS_MAX ? -E2BIG : 0;
}

/* --- the envelope ----------------------------------------------------------------------------- */

static int server_failed(const json_t *root, struct error *error)
{
    const char *type = json_string_value(json_object_get(root, "errorType"));
    const char *words = json_string_value(json_object_get(root, "error"));
    char type_text[40];
    char text[300];

    return error_set(error, -EIO, "%s: %s",
                     utf8_printable_copy(type_text, sizeof(type_text), type ? type : "error"),
                     utf8_printable_copy(text, sizeof(text), words ? words : "no reason given"));
}

static int take(struct prom_answer *answer, struct error *error)
{
    const char *status = json_string_value(json_object_get(answer->root, "status"));
    const json_t *warnings = json_object_get(answer->root, "warnings");
    const char *warning = json_string_value(json_array_get(warnings, 0));
    int rc;

    if (status && !strcmp(status, "error"))
        return server_failed(answer->root, error);
    if (!status || strcmp(status, "success") != 0)
        return -EPROTO;
    if (warning)
        utf8_printable_copy(answer->warning, sizeof(answer->warning), warning);
    answer->series = json_object_get(json_object_get(answer->root, "data"), "result");
    rc = check_result(answer->series);
    if (rc == 0)
        answer->n = json_array_size(answer->series);
    return rc;
}

static int explain(int rc, struct error *error)
{
    if (rc == -EPROTO)
        return error_set(error, rc, "what came is not an answer of the Prometheus HTTP API");
    if (rc == -E2BIG)
        return error_set(error, rc, "the answer has more series or values than were asked for");
    return rc; /* the message is there */
}

int prom_answer_parse(const char *bytes, size_t size, struct prom_answer *answer,
                      struct error *error)
{
    int rc;

    *answer = (struct prom_answer){0};
    if (is_too_large(bytes, size))
        return explain(-E2BIG, error);
    *answer = (struct prom_answer){.root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL)};
    rc = json_is_object((json_t *)answer->root) ? take(answer, error) : -EPROTO;
    if (rc < 0)
        prom_answer_free(answer);
    return explain(rc, error);
}

void prom_answer_free(struct prom_answer *answer)
{
    json_decref(answer->root);
    *answer = (struct prom_answer){0};
}

/* --- what is in it ---------------------------------------------------------------------------- */

const char *prom_label(const struct prom_answer *answer, size_t series, const char *name)
{
    const json_t *metric = json_object_get(json_array_get(answer->series, series), "metric");
    const char *value = json_string_value(json_object_get(metric, name));

    return value ? value : "";
}

size_t prom_n_points(const struct prom_answer *answer, size_t series)
{
    const json_t *points = json_object_get(json_array_get(answer->series, series), "values");

    return points ? json_array_size(points) : 1;
}

/* "1.5e9"; not "NaN", "+Inf", nor what strtod() takes besides. */
static bool parse_value(const char *text, double *value)
{
    char *end;

    if (!isdigit((unsigned char)*text) && *text != '-')
        return false;
    if (text[strspn(text, "0123456789+-.eE")] != '\0')
        return false;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

bool prom_point(const struct prom_answer *answer, size_t series, size_t point, double *time_s,
                double *value)
{
    const json_t *of = json_array_get(answer->series, series);
    const json_t *points = json_object_get(of, "values");
    const json_t *pair = points ? json_array_get(points, point) : json_object_get(of, "value");
    const char *text = json_string_value(json_array_get(pair, 1));

    *time_s = json_number_value(json_array_get(pair, 0));
    return text && parse_value(text, value);
}
