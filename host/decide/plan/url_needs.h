// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file url_needs.h  Needs of a host's guests over a long time, from the server's recorded series
 * if they exist, otherwise from the scraped samples.
 *
 * Theory of operation. A guest has 40,320 minutes in four weeks, and a query over them costs the
 * server the same whatever the step is. The rules of prometheus/vmwss.rules.yml record the largest
 * need of each quarter of an hour of the clock, half an hour later, so that a step that is a
 * multiple of a quarter needs a fifteenth of the samples. They also record how often the host had
 * been scraped by then. The server is asked for the quarters for which both are recorded, and in
 * which the host was scraped no more often. All other steps are read from the scraped samples:
 * those before the rules existed, while they were not evaluated, of the last half hour, and where
 * scrapes arrived late. A step may be seen twice; the larger value counts.
 */
#pragma once

#include "decide/plan/prom_query.h"

struct url_needs {
    struct prom_reader reader;
    const char *of; /* the matchers of the host: prom_select() */
    /* ends of the steps plus PROM_MINUTE_LATE_S */
    struct prom_span span;
    /* set: from then on all steps are recorded, but perhaps for the last two */
    double recorded_s;
};

/** Reads the needs by uuid: the largest of each step. Errors as prom_each() */
int url_needs_read(struct url_needs *needs);
