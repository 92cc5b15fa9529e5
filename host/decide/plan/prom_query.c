// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prom_query.c  See prom_query.h. */
#include "decide/plan/prom_query.h"

#include "base/cleanup.h"
#include "decide/plan/prom_doubt.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* This makes some 3 MB of JSON, and 30 MB once parsed. */
#define POINTS_OF_PIECE 100000
/* Prometheus refuses more than 11,000 points of one series. */
#define TIMES_OF_PIECE 10000

/* Queries one piece; *series: how many series there are at one time, at most. */
static int ask_piece(const struct prom_reader *reader, const char *query,
                     const struct prom_span *piece, double *series, struct error *error)
{
    const double to_s = piece->from_s + (double)(piece->n_times - 1) * piece->step_s;
    const struct prom_times times = {piece->from_s, to_s, piece->step_s};
    struct prom_answer answer;
    int rc = prom_query(reader->client, query, &times, &answer, error);

    if (rc < 0)
        return rc;
    *series = fmax(*series, (double)answer.points.n / (double)piece->n_times);
    prom_doubt(reader->client, reader->reading, query, &answer);
    for (size_t i = 0; rc == 0 && i < answer.n; i++)
        rc = reader->see(&answer, i, reader->context);
    prom_answer_free(&answer);
    return rc;
}

/* The piece before shows how many series there are at one time; if there are now so many that an
 * answer is too large, a quarter of the piece is queried. */
static int ask_pieces(const struct prom_reader *reader, const char *query,
                      const struct prom_span *span)
{
    double series = (double)span->n_series;
    int rc = 0;

    for (size_t t = 0; rc == 0 && t < span->n_times;) {
        const double most = fmin(POINTS_OF_PIECE / (series + 1) + 1, TIMES_OF_PIECE);
        const struct prom_span piece = {
            .from_s = span->from_s + (double)t * span->step_s,
            .n_times = (size_t)fmin((double)(span->n_times - t), fmax(most, 1)),
            .step_s = span->step_s};
        struct error own = {0};

        rc = ask_piece(reader, query, &piece, &series, &own);
        if (rc == 0)
            t += piece.n_times;
        else if ((rc == -E2BIG || rc == -EFBIG) && piece.n_times > 1)
            rc = 0, series = 4 * POINTS_OF_PIECE / (double)piece.n_times;
        else if (own.code != 0)
            *reader->error = own;
    }
    return rc;
}

int prom_each(const struct prom_reader *reader, const struct prom_span *span, const char *format,
              ...)
{
    cleanup_free char *query = NULL;
    va_list values;
    int n;

    va_start(values, format);
    n = vasprintf(&query, format, values);
    va_end(values);
    if (n < 0) {
        query = NULL;
        return error_set(reader->error, -ENOMEM, "%s: out of memory", prom_url(reader->client));
    }
    return ask_pieces(reader, query, span);
}

/* Escapes the name for a PromQL string. A name has at most 255 bytes. */
static const char *escape(char text[600], const char *name)
{
    size_t n = 0;

    for (const char *c = name; *c && n < 590; c++) {
        if (*c == '\\' || *c == '"' || *c == '\n')
            text[n++] = '\\';
        text[n++] = *c == '\n' ? 'n' : *c;
    }
    text[n] = '\0';
    return text;
}

static const char *match_of(const struct plan_reading *reading)
{
    const char *match = reading->prometheus ? reading->prometheus->match : NULL;

    return match ? match : "";
}

void prom_select(char of[PROM_SELECT_MAX], const struct plan_reading *reading, const char *host)
{
    const char *match = match_of(reading);
    char name[600];

    if (host)
        snprintf(of, PROM_SELECT_MAX, "host=\"%s\"%s%s", escape(name, host),
                 match[0] != '\0' ? "," : "", match);
    else
        snprintf(of, PROM_SELECT_MAX, "%s", match);
}

/* Matchers that a series without the label passes would select what was recorded of all hosts. */
bool prom_may_be_recorded(const struct plan_reading *reading)
{
    const char *match = match_of(reading);

    return !strpbrk(match, "!~") && !strstr(match, "=\"\"");
}
