// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file url_needs.h  Needs and sizes of a host's guests over a long time, from the server's
 * recorded series if they exist, otherwise from the scraped samples.
 *
 * Theory of operation. A guest has 40,320 minutes in four weeks, and a query over them costs the
 * server the same whatever the step is. The rules of prometheus/vmwss.rules.yml record the largest
 * need of each quarter of an hour of the clock, half an hour later, so that a step that is a
 * multiple of a quarter needs a fifteenth of the samples. They also record how often the host had
 * been scraped by then. The scraped samples are queried as well for each step with a quarter in
 * which the host was scraped more often, or for which no need is recorded: before the rules
 * existed, while they were not evaluated, for the last half hour, and where scrapes arrived late.
 * So a step may be seen twice; the larger value counts.
 */
#pragma once

#include "decide/plan/prom_query.h"

/** The guests to query, and the callback: prom_each_piece(). */
struct url_needs {
    struct prom_client *client;
    const struct plan_reading *reading;
    const char *host;
    const char *of;        /* its selector: prom_select() */
    struct prom_span span; /* times of the scraped samples: prom_needs_query() */
    int (*see)(const struct prom_answer *answer, size_t series, void *context);
    void *context;
};

/** Reads the needs by uuid: the largest of each step. Errors as prom_each_piece(). */
int url_needs_read(const struct url_needs *needs, struct error *error);

/** Reads the sizes by uuid and window: the last of each step, seen once. A recorded value is enough
 * for a step, because a size holds for an hour. */
int url_sizes_read(const struct url_needs *needs, struct error *error);
