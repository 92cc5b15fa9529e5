// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prom_query.h  Asks a server, in pieces if a query is over a long time, and chooses the
 * series of a host; warns of answers that are partial, or have something that cannot be used. */
#pragma once

#include "decide/plan/prom_client.h"
#include "decide/plan/reading.h"

/** A sample of minute k is scraped within minute k + 1; the range of a query ends just before that
 * minute does. */
#define PROM_MINUTE_LATE_S (60 - 0.001)

/** The server, and the callback for each series of an answer; a nonzero value that it returns ends
 * the walk, and is returned. */
struct prom_reader {
    struct prom_client *client;
    const struct plan_reading *reading;
    int (*see)(struct prom_series *series, void *context);
    void *context;
    struct error *error;
};

/** The times of a query, and how many series it is expected to have. */
struct prom_span {
    double from_s;
    size_t n_times;
    int step_s; /* 0: one time */
    size_t n_series;
};

/** One time. */
#define PROM_AT(time_s) (&(const struct prom_span){.from_s = (time_s), .n_times = 1})

/** Returns true for the text of a UUID. */
bool prom_is_uuid(const char *text);

/** Copies the name of the guest that the series is about, made printable. A label of the target
 * prevails over one that is scraped, which Prometheus renames to exported_domain. A guest without a
 * name is called by its UUID. */
void prom_guest_name(char *name, size_t size, const struct prom_series *series);

/** Makes the query, which has one metric, like printf(), and queries the span in pieces. Errors as
 * prom_query(), and those of reader->see. */
__attribute__((format(printf, 3, 4))) int
prom_each(const struct prom_reader *reader, const struct prom_span *span, const char *format, ...);

/** Writes the matchers of a host's series, which go between braces: its name, and the user's;
 * @p host NULL: those of all hosts, "" without the user's. */
#define PROM_SELECT_MAX 1200
void prom_select(char of[PROM_SELECT_MAX], const struct plan_reading *reading, const char *host);

/** Writes a range over the whole time with at most some 10,000 moments: a subquery. */
#define PROM_SPARSE_MAX 64
const char *prom_sparse(char over[PROM_SPARSE_MAX], const struct plan_reading *reading);

/** Returns false if the user's matchers would not choose among recorded series, which lack most
 * labels. */
bool prom_may_be_recorded(const struct plan_reading *reading);
