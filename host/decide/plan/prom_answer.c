// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prom_answer.c  See prom_answer.h. */
#include "decide/plan/prom_answer.h"

#include "base/cleanup.h"
#include "base/utf8.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- its size --------------------------------------------------------------------------------- */

/* COMMAS_OF_SERIES: the labels of a series and their surroundings. OF_ENVELOPE: status, warnings,
 * statistics of an answer. */
#define COMMAS_OF_SERIES 10
#define OF_ENVELOPE 10000

/* The parser allocates a hundred bytes and more for each "{}": an answer is not parsed if it has
 * more of these characters than an answer within the limits, whose points were cut out. Strings may
 * contain any of them. */
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
    return objects > 2 * PROM_SERIES_MAX + OF_ENVELOPE || arrays > PROM_SERIES_MAX + OF_ENVELOPE ||
           commas > COMMAS_OF_SERIES * PROM_SERIES_MAX + OF_ENVELOPE;
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

/* Takes the point of a vector; the points of a matrix were cut out. */
static int take_point(struct prom_answer *answer, const json_t *point)
{
    const char *text = json_string_value(json_array_get(point, 1));
    const struct prom_point parsed = {json_number_value(json_array_get(point, 0)),
                                      prom_points_value(text, strlen(text))};

    return prom_points_add(&answer->points, PROM_POINTS_MAX, parsed);
}

/* Takes the next array for each number: nothing else in an answer has this form. */
static int take_array(struct prom_answer *answer, const json_t *number, size_t *arrays)
{
    struct prom_series *series = &answer->series[answer->n];
    const struct prom_points *points = &answer->points;

    if (!json_is_integer(number) || json_integer_value(number) != (json_int_t)*arrays ||
        *arrays >= points->n_arrays)
        return -EPROTO;
    series->first = *arrays > 0 ? points->ends[*arrays - 1] : 0;
    series->n = points->ends[*arrays] - series->first;
    ++*arrays;
    return 0;
}

/* Takes {"metric": {}, "value": point} in a vector, or {"metric": {}, "values": [point, ...]} in a
 * matrix. Returns -EPROTO for any other form. */
static int take_series(struct prom_answer *answer, json_t *from, size_t *arrays)
{
    struct prom_series *series = &answer->series[answer->n];
    json_t *value = json_object_get(from, "value");
    json_t *values = json_object_get(from, "values");
    int rc;

    series->labels = json_object_get(from, "metric");
    if (!are_labels(series->labels) || !value == !values)
        return -EPROTO;
    if (values) {
        rc = take_array(answer, values, arrays);
    } else {
        if (!is_point(value) || answer->points.n_arrays > 0)
            return -EPROTO;
        series->first = answer->points.n;
        series->n = 1;
        rc = take_point(answer, value);
    }
    answer->n += rc == 0;
    return rc;
}

static int take_result(struct prom_answer *answer, const json_t *result)
{
    json_t *series;
    size_t arrays = 0;
    size_t i;

    if (!json_is_array(result))
        return -EPROTO;
    if (json_array_size(result) > PROM_SERIES_MAX)
        return -E2BIG;
    answer->series = calloc(json_array_size(result) + 1, sizeof(*answer->series));
    if (!answer->series)
        return -ENOMEM;
    json_array_foreach(result, i, series)
    {
        int rc = take_series(answer, series, &arrays);

        if (rc < 0)
            return rc;
    }
    return 0;
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

/* Adds "; WARNING", as far as there is room. Returns false if there is none. */
static bool add_warning(struct prom_answer *answer, const char *warning)
{
    const size_t n = strlen(answer->warning);
    const char *and = n > 0 ? "; " : "";
    char text[200];

    utf8_printable_copy(text, sizeof(text), warning);
    if (text[0] == '\0')
        return true;
    if (n + strlen(and) + strlen(text) + sizeof("; and 000000 more") > sizeof(answer->warning))
        return false;
    snprintf(answer->warning + n, sizeof(answer->warning) - n, "%s%s", and, text);
    return true;
}

/* A proxy may have made a text or a number of the value. */
static bool is_said(const json_t *doubt)
{
    return doubt && !json_is_false(doubt) && !json_is_null(doubt);
}

/* "warnings": ["...", ...]: Prometheus, and Thanos and Mimir for stores that did not answer.
 * "isPartial": true: VictoriaMetrics' cluster, for a storage node that did not
 * (https://docs.victoriametrics.com/victoriametrics/cluster-victoriametrics/#cluster-availability).
 * Both are beside the data; what is in "infos" of Prometheus 3 does not concern the data. */
static void take_doubts(struct prom_answer *answer)
{
    const json_t *warnings = json_object_get(answer->root, "warnings");
    const json_t *data = json_object_get(answer->root, "data");
    json_t *warning;
    size_t more = 0;
    size_t i;

    answer->partial = is_said(json_object_get(answer->root, "isPartial")) ||
                      is_said(json_object_get(data, "isPartial")) ||
                      json_array_size(warnings) > 0 || json_string_length(warnings) > 0;
    if (json_is_string(warnings))
        add_warning(answer, json_string_value(warnings));
    json_array_foreach(warnings, i, warning)
    {
        const char *text = json_string_value(warning);

        more += text && !add_warning(answer, text);
    }
    i = strlen(answer->warning);
    if (more > 0)
        snprintf(answer->warning + i, sizeof(answer->warning) - i, "; and %zu more", more);
}

static int take_answer(struct prom_answer *answer, struct error *error)
{
    const char *status = json_string_value(json_object_get(answer->root, "status"));

    if (status && !strcmp(status, "error"))
        return server_failed(answer->root, error);
    if (!status || strcmp(status, "success") != 0)
        return -EPROTO;
    take_doubts(answer);
    return take_result(answer, json_object_get(json_object_get(answer->root, "data"), "result"));
}

static int explain_shape(int rc, struct error *error)
{
    if (rc == -EPROTO)
        return error_set(error, rc, "what came is not an answer of the Prometheus HTTP API");
    if (rc == -E2BIG)
        return error_set(error, rc, "the answer has more series or values than were asked for");
    if (rc == -ENOMEM)
        return error_set(error, rc, "out of memory");
    return rc; /* the error has its message */
}

int prom_answer_parse(const char *bytes, size_t size, struct prom_answer *answer,
                      struct error *error)
{
    cleanup_free char *rest = NULL;
    size_t rest_size = 0;
    int rc;

    *answer = (struct prom_answer){0};
    rc = prom_points_cut(bytes, size, PROM_POINTS_MAX, &answer->points, &rest, &rest_size);
    if (rc == 0 && is_too_large(rest, rest_size))
        rc = -E2BIG;
    if (rc == 0) {
        answer->root = json_loadb(rest, rest_size, JSON_REJECT_DUPLICATES, NULL);
        rc = json_is_object((json_t *)answer->root) ? take_answer(answer, error) : -EPROTO;
    }
    if (rc < 0)
        prom_answer_free(answer);
    return explain_shape(rc, error);
}

void prom_answer_free(struct prom_answer *answer)
{
    json_decref(answer->root);
    free(answer->series);
    prom_points_free(&answer->points);
    *answer = (struct prom_answer){0};
}

/* --- access ----------------------------------------------------------------------------------- */

const char *prom_label(const struct prom_answer *answer, size_t series, const char *name)
{
    const char *value = NULL;

    if (series < answer->n)
        value = json_string_value(json_object_get(answer->series[series].labels, name));
    return value ? value : "";
}

size_t prom_n_points(const struct prom_answer *answer, size_t series)
{
    return series < answer->n ? answer->series[series].n : 0;
}

bool prom_point(const struct prom_answer *answer, size_t series, size_t point, double *time_s,
                double *value)
{
    const struct prom_point *at;

    if (point >= prom_n_points(answer, series))
        return false;
    at = &answer->points.all[answer->series[series].first + point];
    *time_s = at->time_s;
    *value = at->value;
    return !isnan(at->value);
}
