// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prom_answer.h  What a Prometheus HTTP API answers to query and query_range
 * (https://prometheus.io/docs/prometheus/latest/querying/api/), from bytes that may be anything.
 *
 * The bytes are parsed once, and all of them are checked then: what is in a struct prom_answer has
 * the form that the documentation gives it. Values that are not finite numbers are no values. Text
 * from the server is fit to print.
 */
#pragma once

#include "base/error.h"
#include "decide/plan/prom_points.h"

#include <stdbool.h>
#include <stddef.h>

/** No answer may have more; what asks sees to it that an honest one has far less. */
#define PROM_SERIES_MAX 200000
#define PROM_POINTS_MAX 500000

struct prom_series {
    void *labels;    /* jansson's */
    size_t first, n; /* of the points */
};

struct prom_answer {
    void *root;                 /* jansson's */
    struct prom_series *series; /* of a vector or of a matrix */
    size_t n;
    struct prom_points points;
    char warning[200]; /* the first that the server gave: the answer is partial; "": none */
};

/**
 * @return 0: free it with prom_answer_free(). -EIO: the server says that it failed, and the message
 * is its own; -EPROTO: it is no such answer; -E2BIG: it has more than the above; -ENOMEM
 */
int prom_answer_parse(const char *bytes, size_t size, struct prom_answer *answer,
                      struct error *error);
void prom_answer_free(struct prom_answer *answer);

/** The series' label, the answer's; "" if it has none. */
const char *prom_label(const struct prom_answer *answer, size_t series, const char *name);

/** How many points it has: of a vector 1. */
size_t prom_n_points(const struct prom_answer *answer, size_t series);

/** A point: Unix time and value. false: the value is not a finite number. */
bool prom_point(const struct prom_answer *answer, size_t series, size_t point, double *time_s,
                double *value);
