// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/plan/prom_answer.h"

#include "base/cleanup.h"
#include "base/utf8.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AMOUNT_MAX 0x1p60
/* A server may round the time of a query to seconds. */
#define NEARLY_S 1.0

/* --- the bytes -------------------------------------------------------------------------------- */

/* COMMAS_OF_SERIES: the labels of a series and their surroundings. OF_ENVELOPE: status, warnings,
 * statistics of an answer. */
#define COMMAS_OF_SERIES 10
#define OF_ENVELOPE 10000

static const char *skip_space(const char *at)
{
    while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

/* Returns the position behind the string that begins there. */
static const char *end_of_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : end;
}

static const char *end_of_array(const char *at, const char *end)
{
    for (int depth = 0; at < end; at++) {
        depth += (*at == '[') - (*at == ']');
        if (depth == 0)
            return at + 1;
    }
    return end;
}

/* Returns the array of points that follows if the string, which ends there, is its key; or NULL. */
static const char *find_points(const char *key, const char *key_end)
{
    const size_t n = (size_t)(key_end - key);
    const char *at;

    if ((n != 7 || memcmp(key, "\"value\"", n) != 0) &&
        (n != 8 || memcmp(key, "\"values\"", n) != 0))
        return NULL;
    at = skip_space(key_end);
    at = *at == ':' ? skip_space(at + 1) : at;
    return *at == '[' ? at : NULL;
}

/* Copies everything except points to @p rest, where their position is instead: jansson would make
 * an array, a number and a string of each, which takes ten times as long as reading two numbers,
 * and 30 times as many bytes as they have. It also allocates a hundred bytes and more for each
 * "{}": returns false if the rest has more of these characters than that of an answer within the
 * limits. Strings may contain any of them. */
static bool cut(const char *bytes, const char *end, FILE *rest)
{
    const char *from = bytes;
    size_t containers = 0;
    size_t commas = 0;

    for (const char *at = bytes; at < end;) {
        const char *key = at++;
        const char *points;

        containers += *key == '{' || *key == '[';
        commas += *key == ',';
        if (*key != '"')
            continue;
        at = end_of_string(key, end);
        points = find_points(key, at);
        if (!points)
            continue;
        fwrite(from, 1, (size_t)(points - from), rest);
        fprintf(rest, "%zu", (size_t)(points - bytes));
        from = at = end_of_array(points, end);
    }
    fwrite(from, 1, (size_t)(end - from), rest);
    return containers <= 2 * PROM_SERIES_MAX + OF_ENVELOPE &&
           commas <= COMMAS_OF_SERIES * PROM_SERIES_MAX + OF_ENVELOPE;
}

/* --- points ----------------------------------------------------------------------------------- */

static bool skip(const char **at, char c)
{
    const char *next = skip_space(*at);

    *at = next + (*next == c);
    return *next == c;
}

/* Returns NAN if the text is not an amount; strtod() accepts "NaN" and "+Inf". */
static double read_amount(const char *text, const char *end)
{
    char *stop;
    const double value = strtod(text, &stop);

    return stop == end && end > text && value >= 0 && value <= AMOUNT_MAX ? value : NAN;
}

/* Reads [TIME,"VALUE"] and the comma behind it. */
static bool read_point(const char **text, double *time_s, double *value)
{
    const char *at = *text;
    const char *end;
    char *stop;

    if (!skip(&at, '['))
        return false;
    *time_s = strtod(at, &stop);
    if (stop == at || !isfinite(*time_s))
        return false;
    at = stop;
    if (!skip(&at, ',') || !skip(&at, '"') || !(end = strchr(at, '"')))
        return false;
    *value = read_amount(at, end);
    at = end + 1;
    if (!skip(&at, ']'))
        return false;
    skip(&at, ',');
    *text = at;
    return true;
}

/* Returns true if the time is one of those of the query, and later than the last. */
static bool is_asked(const struct prom_span *times, double time_s, double last_s)
{
    double k;

    if (!times)
        return true;
    k = round((time_s - times->from_s) / fmax(times->step_s, 1));
    k = fmin(fmax(k, 0), (double)times->n_times - 1);
    return fabs(time_s - times->from_s - k * times->step_s) <= NEARLY_S && time_s > last_s;
}

bool prom_next(struct prom_series *series, double *time_s, double *value)
{
    while (read_point(&series->at, time_s, value)) {
        *time_s += series->times ? series->times->ahead_s : 0;
        if (!isnan(*value))
            return true;
    }
    return false;
}

/* --- series ----------------------------------------------------------------------------------- */

const char *prom_label(const struct prom_series *series, const char *name)
{
    const char *value = json_string_value(json_object_get(series->labels, name));

    return value ? value : "";
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

/* Reads {"metric": {}, "value": point} of a vector, or {"metric": {}, "values": [point, ...]} of a
 * matrix, where points are positions in the bytes. The server may have sent a number itself, which
 * is then no position that was noted here. Only positions after *end, where the points of the
 * series before end, are accepted, so that each point is read once. */
static int take_series(struct prom_answer *answer, json_t *from, size_t i, const char **end)
{
    const size_t before = answer->n_points;
    struct prom_series series = {.times = answer->times};
    double last_s = -HUGE_VAL;
    json_int_t value = -1;
    json_int_t values = -1;
    const char *at;
    double time_s;

    if (json_unpack(from, "{s:o,s?I,s?I}", "metric", &series.labels, "value", &value, "values",
                    &values) < 0 ||
        !are_labels(series.labels) || (value < 0) == (values < 0))
        return -EPROTO;
    series.at = at = answer->bytes + (value < 0 ? values + 1 : value);
    if (at < *end || at > answer->bytes + answer->size)
        return -EPROTO;
    while (read_point(&at, &time_s, &series.value)) {
        if (!is_asked(answer->times, time_s, last_s))
            return -ERANGE;
        if (++answer->n_points > PROM_POINTS_MAX)
            return -E2BIG;
        series.unreadable |= isnan(series.value) != 0;
        last_s = time_s;
    }
    *end = at;
    answer->series[i] = series;
    return (value < 0 ? skip(&at, ']') : answer->n_points == before + 1) ? 0 : -EPROTO;
}

static int take_result(struct prom_answer *answer, json_t *result)
{
    const char *end = answer->bytes;
    json_t *from;
    size_t i;
    int rc = 0;

    if (!json_is_array(result))
        return -EPROTO;
    answer->n = json_array_size(result);
    if (answer->n > PROM_SERIES_MAX)
        return -E2BIG;
    answer->series = calloc(answer->n + 1, sizeof(*answer->series));
    if (!answer->series)
        return -ENOMEM;
    json_array_foreach(result, i, from)
    {
        if (rc == 0)
            rc = take_series(answer, from, i, &end);
    }
    return rc;
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

void prom_answer_doubt(struct prom_answer *answer, const char *name, const char *value)
{
    const size_t n = strlen(answer->doubt);
    char text[250];

    utf8_printable_copy(text, sizeof(text), value ? value : "");
    snprintf(answer->doubt + n, sizeof(answer->doubt) - n, "%s%s: %s", n > 0 ? ", " : "", name,
             text);
    answer->partial = true;
}

/* A proxy may have made a text or a number of the value. */
static bool is_said(const json_t *doubt)
{
    if (json_is_array(doubt) || json_is_object(doubt))
        return json_array_size(doubt) + json_object_size(doubt) > 0;
    return !json_is_false(doubt) && !json_is_null(doubt) &&
           (!json_is_string(doubt) || json_string_length(doubt) > 0);
}

/* "warnings": ["...", ...]: Prometheus, and Thanos and Mimir for stores that did not answer.
 * "isPartial": true: VictoriaMetrics' cluster, for a storage node that did not
 * (https://docs.victoriametrics.com/victoriametrics/cluster-victoriametrics/#cluster-availability);
 * others spell it is_partial or partialResponse. Both are beside the data, and so may be the
 * "error" of one of several servers behind a proxy; what is in "infos" of Prometheus 3 does not
 * concern the data. */
static void take_doubts(struct prom_answer *answer, json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        cleanup_free char *text = NULL;

        if (!is_said(value) || !(strcmp(key, "warnings") == 0 || strcmp(key, "error") == 0 ||
                                 strcasestr(key, "partial")))
            continue;
        text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        prom_answer_doubt(answer, key, text);
    }
}

static int take_answer(struct prom_answer *answer, struct error *error)
{
    const char *status = json_string_value(json_object_get(answer->root, "status"));

    if (status && !strcmp(status, "error"))
        return server_failed(answer->root, error);
    if (!status || strcmp(status, "success") != 0)
        return -EPROTO;
    take_doubts(answer, answer->root);
    take_doubts(answer, json_object_get(answer->root, "data"));
    return take_result(answer, json_object_get(json_object_get(answer->root, "data"), "result"));
}

static int explain_shape(int rc, struct error *error)
{
    if (rc == -EPROTO)
        return error_set(error, rc,
                         "what came is not an answer of the Prometheus HTTP API: give the "
                         "URL up to what stands before /api/v1");
    if (rc == -ERANGE)
        return error_set(error, -EPROTO,
                         "its answer has values at times that were not asked for, or twice for "
                         "one time: give the URL of the server itself, without what is before "
                         "it");
    if (rc == -E2BIG)
        return error_set(error, rc, "the answer has more series or values than were asked for");
    return rc == -ENOMEM ? error_set(error, rc, "out of memory") : rc;
}

int prom_answer_parse(const char *bytes, size_t size, const struct prom_span *times,
                      struct prom_answer *answer, struct error *error)
{
    cleanup_free char *rest = NULL;
    size_t rest_size;
    FILE *out = open_memstream(&rest, &rest_size);
    const bool small = out && cut(bytes, bytes + size, out);
    int rc = !out || fclose(out) != 0 ? -ENOMEM : small ? 0 : -E2BIG;

    *answer = (struct prom_answer){.bytes = bytes, .size = (ssize_t)size, .times = times};
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
    *answer = (struct prom_answer){0};
}
