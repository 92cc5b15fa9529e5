// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prom_client.h  Queries a Prometheus HTTP API: Prometheus, VictoriaMetrics, Thanos, Mimir.
 *
 * Only http and https; no redirect is followed, so credentials go nowhere else; certificates are
 * checked; time and size of an answer are limited. Credentials come from files, because every user
 * can read a command line. Errors do not
 * name the URL.
 */
#pragma once

#include "decide/plan/prom_answer.h"

#define PROM_TIMEOUT_S 60
#define PROM_HEADERS_MAX 16
/** Largest answer; one query asks for some 5 MB at most. */
#define PROM_ANSWER_MAX_BYTES (64UL << 20)

struct prom_options {
    const char *cacert;     /* PEM file of the authorities to trust; NULL: the system's */
    const char *cert, *key; /* PEM files of a client certificate and its key; NULL: none */
    const char *user_file;  /* its first line is USER:PASSWORD; NULL: none */
    const char *token_file; /* its first line is a bearer token; NULL: none */
    double timeout_s;       /* for each answer */
    const char *headers[PROM_HEADERS_MAX]; /* of each request, as "NAME: VALUE" */
    size_t n_headers;
    const char *match; /* more matchers for each series: a="b",c=~"d"; NULL: none */
    /* Called a few times a second while waiting for an answer; NULL: not called. */
    void (*tick)(void *context);
    void *context;
};

struct prom_client;

/** Longest prom_options.match. */
#define PROM_MATCH_MAX 500

/** Returns true if the text is a URL rather than a file. */
bool prom_is_url(const char *text);

/** @p url: the part before /api/v1; it and the options must outlive the client. Returns -EINVAL:
 * the URL has a query or an '@', which may be credentials, and is not printed, or a credentials
 * file is empty; -ENOENT: no libcurl; or the error of a file. */
int prom_open(const char *url, const struct prom_options *options, struct prom_client **client,
              struct error *error);
void prom_close(struct prom_client *client);

/** Queries the values of each series at these times, which must outlive the answer. Free the answer
 * with prom_answer_free(). Returns -ETIMEDOUT; -EFBIG; -E2BIG, also if the query exceeds a limit of
 * the server; -EACCES; -ECONNREFUSED: no connection; or as prom_answer_parse() */
int prom_query(struct prom_client *client, const char *query, const struct prom_span *times,
               struct prom_answer *answer, struct error *error);
