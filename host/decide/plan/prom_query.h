// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file prom_query.h  Asks a server, in pieces if a query is over a long time; warns of answers
 * that are partial, or have something that cannot be used. */
#pragma once

#include "decide/plan/fleet.h"
#include "decide/plan/prom_client.h"
#include "decide/plan/reading.h"

#include <stdio.h>

/** In a query by steps: a sample of minute k is scraped within minute k + 1, so the range of a step
 * ends just before the minute after it does. The server is asked for multiples of the step, so that
 * one that aligns times, such as the query frontends of Thanos and Mimir, changes nothing. */
#define PROM_LATE_MS 59999

/** The server, and what its queries are about. */
struct prom_reader {
    const char *url;
    struct prom_client *client;
    const struct plan_reading *reading;
    const char *host;      /* whose series are read; NULL: those of all hosts */
    const char *instances; /* a regular expression of the host's */
    struct error *error;
    bool partial; /* set if an answer was partial */
};

/** Begins to read a source that is a URL. Errors as prom_open(). */
int prom_begin(struct prom_reader *reader, const struct plan_reading *reading, size_t source,
               struct error *error);
/** Ends it, with the result, which it returns: if that is an error, the message then names the URL;
 * -ENOMEM needs no message. */
int prom_end(struct prom_reader *reader, int rc);

/** Writes text that is within a string of PromQL. */
void prom_write_text(FILE *out, const char *text);

/** Warns that only one of two answers has the host: then all of the source is partly known. */
void prom_lost(struct prom_reader *reader, const char *host);
/** Warns that what there is of a guest is not in all answers: then its host is partly known. */
void prom_lost_of(const struct plan_reading *reading, struct plan_host *host, const char *guest,
                  const char *what);

/** Called for each series of an answer: of a query of one time with its value, NAN if that is not
 * an amount; of others prom_next() reads them. A nonzero value that it returns ends the walk, and
 * is returned. */
typedef int prom_see(struct prom_series *series, void *context);

/** Returns true for the text of a UUID. */
bool prom_is_uuid(const char *text);

/** Copies the name of the guest that the series is about, made printable. A label of the target
 * prevails over one that is scraped, which Prometheus renames to exported_domain. A guest without a
 * name is called by its UUID. */
void prom_guest_name(char *name, size_t size, const struct prom_series *series);

/**
 * Queries the span in pieces; NULL: one time, the end of the reading. The query has one metric,
 * or the label __name__, and is sent with these replaced:
 *   $of      the matchers of the reader's host, and the user's
 *   $window  the matcher of the window
 *   $instances  those of the reader's instances, and the user's
 *   $span    the length of the reading
 *   $step    that of a step of the span
 *   $late    the offset by which ranges end late enough: PROM_LATE_MS
 *   $900     900 s, or as many more as make at most 10,000 of them the length of the reading:
 *            VictoriaMetrics refuses more than 30,000 points of one series of a subquery
 *   $size    the quantile of right sizes
 *   $cpus    the user's query of CPUs
 * Errors as prom_query(), and those of @p see.
 */
int prom_each(struct prom_reader *reader, const struct prom_span *span, const char *query,
              prom_see *see, void *context);

/** Returns false if the user's matchers would not choose among recorded series, which lack most
 * labels. */
bool prom_may_be_recorded(const struct plan_reading *reading);
