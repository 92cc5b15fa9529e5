// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prom_query.h  The queries of from_prometheus.h; a query over a long time is sent in
 * pieces.
 */
#pragma once

#include "decide/plan/prom_client.h"
#include "decide/plan/reading.h"

#define PROM_QUERY_MAX 2048
/** A sample of minute k is scraped within minute k + 1; the range of a query ends just before that
 * minute does. */
#define PROM_MINUTE_LATE_S (60 - 0.001)

/** The rules record the largest need of each cell of the clock of this length, this long after its
 * end. */
#define PROM_RECORDED_S 900
#define PROM_RECORDED_LATE_S 900

/** The times of a range query, and how many series it is expected to have. */
struct prom_span {
    double from_s;
    size_t n_times;
    int step_s;
    size_t n_series;
    int inner_s; /* step of a subquery, whose number of points is limited too; 0: none */
};

/** Queries the span in pieces, and calls @p see for each series of each piece; a nonzero return
 * value of @p see ends the walk and is returned. */
int prom_each_piece(struct prom_client *client, const struct plan_reading *reading,
                    const char *query, const struct prom_span *span,
                    int (*see)(const struct prom_answer *answer, size_t series, void *context),
                    void *context, struct error *error);

/** Does the same for an instant query. */
int prom_each(struct prom_client *client, const struct plan_reading *reading, const char *query,
              double at_s,
              int (*see)(const struct prom_answer *answer, size_t series, void *context),
              void *context, struct error *error);

/** Checks that host names are unique, because every query is by host name. Returns -ENOTUNIQ:
 * several instances have the same name now (two servers that scrape one exporter give it the same
 * instance label); or as prom_query() */
int prom_check_names(struct prom_client *client, const struct plan_reading *reading,
                     struct error *error);

/** Writes the selector of a host's series, with the braces: its name, and the user's matchers;
 * @p host NULL: of all hosts, "" without matchers. */
#define PROM_SELECT_MAX 1200
void prom_select(char of[PROM_SELECT_MAX], const struct plan_reading *reading, const char *host);

/** Returns false if the user's matchers would not choose among recorded series, which lack most
 * labels. */
bool prom_may_be_recorded(const struct plan_reading *reading);

/* In the following, @p of is the selector. */

/** Query for the needs of a host's guests, by uuid: the largest of each step. */
void prom_needs_query(char query[PROM_QUERY_MAX], const char *of, double window_s, int step_s);

/** The same query from the recorded series, at the same times, with a step that is a multiple of
 * PROM_RECORDED_S: see prometheus/vmwss.rules.yml. A value recorded within cell k describes cell k
 * - 2. */
void prom_recorded_query(char query[PROM_QUERY_MAX], const char *of, double window_s, int step_s);

/** Query for each cell of PROM_RECORDED_S, at the times of prom_recorded_query(): whether needs of
 * any guest of the host were recorded, and how often the host had been scraped by then. */
void prom_quarters_query(char query[PROM_QUERY_MAX], const char *of, double window_s);
void prom_counted_query(char query[PROM_QUERY_MAX], const char *of);

/** Makes "METRIC{host="..."}" by the labels @p by; @p over: a function over that many
 * seconds, as "last_over_time"; NULL: the current value. */
void prom_host_query(char query[PROM_QUERY_MAX], const char *by, const char *metric, const char *of,
                     const char *over, double over_s);

/** Query for the number of minutes of each step in which a host was scraped. */
void prom_minutes_query(char query[PROM_QUERY_MAX], const char *of, int step_s);

/** Query for the last scrape of each host, Unix time, by host: among the moments within @p span_s
 * before the query's time that are @p step_s apart. */
void prom_last_query(char query[PROM_QUERY_MAX], const char *of, double span_s, int step_s);
