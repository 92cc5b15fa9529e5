// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prom_answer.h  Answers of a Prometheus HTTP API to query and query_range
 * (https://prometheus.io/docs/prometheus/latest/querying/api/), parsed from untrusted bytes.
 *
 * The bytes are parsed once and checked completely: a struct prom_answer has the documented form.
 * Values that are not finite numbers are dropped. Text from the server is safe to print.
 */
#pragma once

#include "base/error.h"
#include "decide/plan/prom_points.h"

#include <stdbool.h>
#include <stddef.h>

/** Upper limits of an answer; the callers' queries keep an honest answer far below them. */
#define PROM_SERIES_MAX 200000
#define PROM_POINTS_MAX 500000

struct prom_series {
    void *labels;    /* a jansson object */
    size_t first, n; /* first and number of its points */
};

struct prom_answer {
    void *root;                 /* a jansson object */
    struct prom_series *series; /* series of a vector or of a matrix */
    size_t n;
    struct prom_points points;
    bool partial;      /* the server says so, or warns */
    char warning[300]; /* its warnings, as many as have room; "": it says no more */
};

/**
 * @return 0: free it with prom_answer_free(). -EIO: the server reports an error, and the message is
 * the server's; -EPROTO: it is not an answer of this form; -E2BIG: it exceeds the limits above;
 * -ENOMEM
 */
int prom_answer_parse(const char *bytes, size_t size, struct prom_answer *answer,
                      struct error *error);
void prom_answer_free(struct prom_answer *answer);

/** Returns a label of the series, owned by the answer; "" if it has none. */
const char *prom_label(const struct prom_answer *answer, size_t series, const char *name);

/** Returns how many points it has: 1 for a vector. */
size_t prom_n_points(const struct prom_answer *answer, size_t series);

/** Reads a point: Unix time and value. Returns false if the value is not a finite number. */
bool prom_point(const struct prom_answer *answer, size_t series, size_t point, double *time_s,
                double *value);
