// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prom_query.h  The queries of from_prometheus.h, and how one over a long time is asked in
 * pieces. */
#pragma once

#include "decide/plan/prom_client.h"
#include "decide/plan/reading.h"

#define PROM_QUERY_MAX 2048
/** A sample of minute k is scraped within minute k + 1; a range of a query ends just before that
 * ends. */
#define PROM_MINUTE_LATE_S (60 - 0.001)

/** The rules record the largest need of each so long cell of the clock, so much after its end. */
#define PROM_RECORDED_S 900
#define PROM_RECORDED_LATE_S 900

/** The times of a range query, and how many series it is expected to have. */
struct prom_span {
    double from_s;
    size_t n_times;
    int step_s;
    size_t n_series;
    int inner_s; /* step of a subquery in it, whose points have a limit as well; 0: none */
};

/** Asks for the span in pieces, and calls @p see with each series of each piece; what it returns,
 * if not 0, ends the walk and is returned. */
int prom_each_piece(struct prom_client *client, const struct plan_reading *reading,
                    const char *query, const struct prom_span *span,
                    int (*see)(const struct prom_answer *answer, size_t series, void *context),
                    void *context, struct error *error);

/** The same of an instant query. */
int prom_each(struct prom_client *client, const struct plan_reading *reading, const char *query,
              double at_s,
              int (*see)(const struct prom_answer *answer, size_t series, void *context),
              void *context, struct error *error);

/** Everything is asked by the host's name. -ENOTUNIQ: several instances have the same one now (two
 * servers that scrape one exporter give it the same instance label); or as prom_query() */
int prom_check_names(struct prom_client *client, const struct plan_reading *reading,
                     struct error *error);

/** Needs of the guests of a host, by uuid: the largest of each step. */
void prom_needs_query(char query[PROM_QUERY_MAX], const char *host, double window_s, int step_s);

/** The same from what is recorded, with the same times, of a multiple of PROM_RECORDED_S: see
 * prometheus/vmwss.rules.yml. What was recorded within cell k is of cell k - 2. */
void prom_recorded_query(char query[PROM_QUERY_MAX], const char *host, double window_s, int step_s);

/** Of each cell of PROM_RECORDED_S, with the times of prom_recorded_query(): whether needs of any
 * guest of the host were recorded, and how often it had been scraped by then. */
void prom_quarters_query(char query[PROM_QUERY_MAX], const char *host, double window_s);
void prom_counted_query(char query[PROM_QUERY_MAX], const char *host);

/** "METRIC{host="..."}", escaped, by the labels @p by; @p over: a function over that many seconds,
 * as "last_over_time"; NULL: the value now. */
void prom_host_query(char query[PROM_QUERY_MAX], const char *by, const char *metric,
                     const char *host, const char *over, double over_s);

/** In how many minutes of each step a host was scraped. */
void prom_minutes_query(char query[PROM_QUERY_MAX], const char *host, int step_s);

/** When a host was scraped last, Unix time, by host: of the moments within @p span_s before the
 * query's time that are @p step_s apart. @p host NULL: of all. */
void prom_last_query(char query[PROM_QUERY_MAX], const char *host, double span_s, int step_s);
