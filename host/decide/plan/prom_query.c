// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prom_query.c  See prom_query.h. */
#include "decide/plan/prom_query.h"

#include "base/cleanup.h"
#include "base/utf8.h"
#include "decide/plan/prom_doubt.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* This makes some 3 MB of JSON, and 30 MB once parsed. */
#define POINTS_OF_PIECE 100000
/* Prometheus refuses more than 11,000 points of one series, VictoriaMetrics more than 30,000 points
 * of one series of a subquery. */
#define TIMES_OF_PIECE 10000

static int see_all(const struct prom_client *client, const struct plan_reading *reading,
                   const char *query, const struct prom_answer *answer,
                   int (*see)(const struct prom_answer *answer, size_t series, void *context),
                   void *context)
{
    int rc = 0;

    prom_doubt(client, reading, query, answer);
    for (size_t i = 0; rc == 0 && i < answer->n; i++)
        rc = see(answer, i, context);
    return rc;
}

int prom_each(struct prom_client *client, const struct plan_reading *reading, const char *query,
              double at_s,
              int (*see)(const struct prom_answer *answer, size_t series, void *context),
              void *context, struct error *error)
{
    struct prom_answer answer;
    int rc = prom_query(client, query, at_s, &answer, error);

    if (rc < 0)
        return rc;
    rc = see_all(client, reading, query, &answer, see, context);
    prom_answer_free(&answer);
    return rc;
}

static size_t times_of_piece(const struct prom_span *span, double series)
{
    const double most = span->inner_s > 0 ? fmin(TIMES_OF_PIECE, (double)TIMES_OF_PIECE *
                                                                     span->inner_s / span->step_s)
                                          : TIMES_OF_PIECE;
    const double n = POINTS_OF_PIECE / (series + 1);

    return (size_t)fmax(fmin(n + 1, most), 1);
}

static size_t count_points(const struct prom_answer *answer)
{
    size_t n = 0;

    for (size_t i = 0; i < answer->n; i++)
        n += prom_n_points(answer, i);
    return n;
}

/* Queries one piece; *series: number of series it had at one time. */
static int ask_piece(struct prom_client *client, const struct plan_reading *reading,
                     const char *query, const struct prom_span *piece,
                     int (*see)(const struct prom_answer *answer, size_t series, void *context),
                     void *context, double *series, struct error *error)
{
    const double to_s = piece->from_s + (double)(piece->n_times - 1) * piece->step_s;
    struct prom_answer answer;
    int rc = prom_query_range(client, query, piece->from_s, to_s, piece->step_s, &answer, error);

    if (rc < 0)
        return rc;
    *series = (double)count_points(&answer) / (double)piece->n_times;
    rc = see_all(client, reading, query, &answer, see, context);
    prom_answer_free(&answer);
    return rc;
}

/* The piece before shows how many series there are at one time; if there are now so many that an
 * answer is too large, a quarter of the piece is queried. */
int prom_each_piece(struct prom_client *client, const struct plan_reading *reading,
                    const char *query, const struct prom_span *span,
                    int (*see)(const struct prom_answer *answer, size_t series, void *context),
                    void *context, struct error *error)
{
    double series = (double)span->n_series;
    int rc = 0;

    for (size_t t = 0; rc == 0 && t < span->n_times;) {
        const size_t left = span->n_times - t;
        const size_t each = times_of_piece(span, series);
        const struct prom_span piece = {.from_s = span->from_s + (double)t * span->step_s,
                                        .n_times = left < each ? left : each,
                                        .step_s = span->step_s};
        struct error own = {0};

        rc = ask_piece(client, reading, query, &piece, see, context, &series, &own);
        if (rc == 0)
            t += piece.n_times;
        else if ((rc == -E2BIG || rc == -EFBIG) && piece.n_times > 1)
            rc = 0, series = 4 * POINTS_OF_PIECE / (double)piece.n_times;
        else if (own.code != 0)
            *error = own;
    }
    return rc;
}

/* --- names of hosts --------------------------------------------------------------------------- */

struct naming {
    const char *url;
    struct error *error;
};

static int refuse_name(const struct prom_answer *answer, size_t series, void *context)
{
    const struct naming *naming = context;
    char name[256];
    double time_s;
    double n;

    if (!prom_point(answer, series, 0, &time_s, &n) || n <= 1)
        return 0;
    return error_set(naming->error, -ENOTUNIQ,
                     "%s: host %s: %.0f instances of vmwss-exporter have that name: choose with "
                     "--match, give each host a name of its own, or scrape the exporter under one "
                     "address only",
                     naming->url,
                     utf8_printable_copy(name, sizeof(name), prom_label(answer, series, "host")),
                     n);
}

int prom_check_names(struct prom_client *client, const struct plan_reading *reading,
                     struct error *error)
{
    struct naming naming = {prom_url(client), error};
    char of[PROM_SELECT_MAX];
    char query[PROM_QUERY_MAX];

    prom_select(of, reading, NULL);
    snprintf(query, sizeof(query),
             "count by (host) (count by (host,instance) (vmwss_plan_reserve_bytes%s)) > 1", of);
    return prom_each(client, reading, query, reading->to_s, refuse_name, &naming, error);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Escapes the name for a PromQL string. A name has at most 255 bytes. */
static const char *escape(char text[600], const char *name)
{
    size_t n = 0;

    for (const char *c = name; *c && n < 590; c++) {
        if (*c == '\\' || *c == '"')
            text[n++] = '\\';
        if (*c == '\n') {
            text[n++] = '\\';
            text[n++] = 'n';
        } else {
            text[n++] = *c;
        }
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
        snprintf(of, PROM_SELECT_MAX, "{host=\"%s\"%s%s}", escape(name, host),
                 match[0] != '\0' ? "," : "", match);
    else
        snprintf(of, PROM_SELECT_MAX, "%s%s%s", match[0] != '\0' ? "{" : "", match,
                 match[0] != '\0' ? "}" : "");
}

/* Matchers that a series without the label passes would select what was recorded of all hosts. */
bool prom_may_be_recorded(const struct plan_reading *reading)
{
    const char *match = match_of(reading);

    return !strpbrk(match, "!~") && !strstr(match, "=\"\"");
}

/* Returns the selector without its last brace, for more matchers. */
static int open_length(const char *of)
{
    return (int)strlen(of) - 1;
}

void prom_needs_query(char query[PROM_QUERY_MAX], const char *of, double window_s, int step_s)
{
    snprintf(query, PROM_QUERY_MAX,
             "max by (uuid) (max_over_time(vmwss_plan_need_bytes%.*s,window=\"%.10g\"}[%ds]))",
             open_length(of), of, window_s, step_s);
}

/* The query at the end of the cell plus PROM_MINUTE_LATE_S looks ahead to the time of recording. */
#define AHEAD_S (PROM_RECORDED_S + PROM_RECORDED_LATE_S - 60)

static void query_recorded_needs(char query[PROM_QUERY_MAX], const char *by, const char *of,
                                 double window_s, int step_s)
{
    snprintf(query, PROM_QUERY_MAX,
             "max by (%s) (max_over_time(vmwss:plan_need_bytes:max15m%.*s,window=\"%.10g\"}"
             "[%ds] offset -%ds))",
             by, open_length(of), of, window_s, step_s, AHEAD_S);
}

void prom_recorded_query(char query[PROM_QUERY_MAX], const char *of, double window_s, int step_s)
{
    query_recorded_needs(query, "uuid", of, window_s, step_s);
}

void prom_quarters_query(char query[PROM_QUERY_MAX], const char *of, double window_s)
{
    query_recorded_needs(query, "host", of, window_s, PROM_RECORDED_S);
}

void prom_counted_query(char query[PROM_QUERY_MAX], const char *of)
{
    snprintf(query, PROM_QUERY_MAX,
             "max by (host) (max_over_time(vmwss:plan_scrapes:count15m%s[%ds] offset -%ds))", of,
             PROM_RECORDED_S, AHEAD_S);
}

void prom_host_query(char query[PROM_QUERY_MAX], const char *by, const char *metric, const char *of,
                     const char *over, double over_s)
{
    if (over)
        snprintf(query, PROM_QUERY_MAX, "max by (%s) (%s(%s%s[%.0fs]))", by, over, metric, of,
                 over_s);
    else
        snprintf(query, PROM_QUERY_MAX, "max by (%s) (%s%s)", by, metric, of);
}

void prom_minutes_query(char query[PROM_QUERY_MAX], const char *of, int step_s)
{
    snprintf(query, PROM_QUERY_MAX,
             "count_over_time((max by (host) (count_over_time(vmwss_plan_reserve_bytes%s[60s])))"
             "[%ds:60s])",
             of, step_s);
}

void prom_last_query(char query[PROM_QUERY_MAX], const char *of, double span_s, int step_s)
{
    snprintf(query, PROM_QUERY_MAX,
             "max by (host) (max_over_time(timestamp(vmwss_plan_reserve_bytes%s)[%.0fs:%ds]))", of,
             span_s, step_s);
}
