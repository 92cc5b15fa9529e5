// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file prom_answer.h  Answers of a Prometheus HTTP API to query and query_range
 * (https://prometheus.io/docs/prometheus/latest/querying/api/), parsed from untrusted bytes.
 *
 * The bytes are parsed once and checked completely: a struct prom_answer has the documented form.
 * Text from the server is safe to print.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Upper limits of an answer; the callers' queries keep an honest answer far below them. */
#define PROM_SERIES_MAX 200000
#define PROM_POINTS_MAX 500000

/** The times of a query, from_s + k * step_s, and how many series it is expected to have. */
struct prom_span {
    double from_s; /* Unix time */
    size_t n_times;
    int step_s; /* 0: one time */
    size_t n_series;
    double ahead_s; /* a point describes the moment this much later than its time */
};

/** One series of a vector or of a matrix; a copy of it is a position among its points. */
struct prom_series {
    void *labels;                  /* a jansson object of the answer */
    const char *at;                /* the next point in the answer's bytes */
    const struct prom_span *times; /* of the query; NULL: any */
    double value;                  /* of the last point, NAN if that is not an amount */
    bool unreadable;               /* some value is not an amount */
};

struct prom_answer {
    const char *bytes; /* with the points */
    ssize_t size;
    const struct prom_span *times; /* of the query; NULL: any */
    void *root;                    /* jansson: the whole object */
    struct prom_series *series;
    size_t n, n_points; /* series, and points of all series */
    bool partial;       /* the server says so, or warns: */
    char doubt[300];    /* in its own words, as many as have room */
};

/**
 * @p bytes end with a 0 at @p size, and must outlive the answer, as must @p times, those of the
 * query; NULL: any. @return 0: free it with prom_answer_free(). -EIO: the server reports an error,
 * and the message is the server's; -EPROTO: it is not an answer of this form, or has points that
 * are not at these times, in their order; -E2BIG: it exceeds the limits above; -ENOMEM
 */
int prom_answer_parse(const char *bytes, size_t size, const struct prom_span *times,
                      struct prom_answer *answer, struct error *error);
/** Notes a doubt of the server about its answer: the name of a member or a header, and its value.
 */
void prom_answer_doubt(struct prom_answer *answer, const char *name, const char *value);
void prom_answer_free(struct prom_answer *answer);

/** Returns a label of the series, owned by the answer; "" if it has none. */
const char *prom_label(const struct prom_series *series, const char *name);

/** Reads the next point whose value is an amount: the Unix time that it is about, and the value,
 * from 0 to 2^60, which is more than any memory and any time. Returns false if there is none. */
bool prom_next(struct prom_series *series, double *time_s, double *value);
