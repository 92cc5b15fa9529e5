// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prom_client.h  Asks a Prometheus HTTP API: Prometheus, VictoriaMetrics, Thanos, Mimir.
 *
 * Only http and https; no redirect is followed, so credentials go nowhere else; certificates are
 * checked; an answer has a time and a size. Credentials come from files, for a command line can be
 * read by everyone. Every error names the URL.
 */
#pragma once

#include "decide/plan/prom_answer.h"

#define PROM_TIMEOUT_S 60
/** An answer's size; what is asked for at once has some 5 MB at most. */
#define PROM_ANSWER_MAX_BYTES (64UL << 20)

struct prom_options {
    const char *cacert;     /* PEM file of the authorities to trust; NULL: the system's */
    const char *user_file;  /* its first line is USER:PASSWORD; NULL: none */
    const char *token_file; /* its first line is a bearer token; NULL: none */
    double timeout_s;       /* of each answer */
    /* Called a few times a second while an answer is awaited; NULL: not. */
    void (*tick)(void *context);
    void *context;
};

struct prom_client;

/** Is it a URL, rather than a file? */
bool prom_is_url(const char *text);

/** @p url: what stands before /api/v1; it and the options must outlive the client. -EINVAL: it has
 * a query or an '@', which may be credentials, and is not printed, or a file has none; -ENOENT: no
 * libcurl; the error of a file. */
int prom_open(const char *url, const struct prom_options *options, struct prom_client **client,
              struct error *error);
void prom_close(struct prom_client *client);
/** As it was given. */
const char *prom_url(const struct prom_client *client);

/** The value of each series at a time, Unix time. Free the answer with prom_answer_free().
 * -ETIMEDOUT; -EFBIG; -EACCES; -ECONNREFUSED: no connection; or as prom_answer_parse() */
int prom_query(struct prom_client *client, const char *query, double at_s,
               struct prom_answer *answer, struct error *error);

/** The same at from_s, from_s + step_s, ... up to to_s. */
int prom_query_range(struct prom_client *client, const char *query, double from_s, double to_s,
                     int step_s, struct prom_answer *answer, struct error *error);
