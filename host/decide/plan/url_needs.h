// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file url_needs.h  Needs and sizes of a host's guests over a long time, from what the server has
 * recorded of them where it has, else from what it has scraped.
 *
 * Theory of operation. A guest has 40,320 minutes in four weeks, and a query over them costs the
 * server the same whatever the step is. The rules of prometheus/vmwss.rules.yml record the largest
 * need of each quarter of an hour of the clock, half an hour later, so that a step of a multiple of
 * that is asked from a fifteenth of the samples. They also record how often the host had been
 * scraped by then. In each step with a quarter in which it was scraped more often, or of which no
 * need is recorded, as before the rules were there, while they were not evaluated, for the last
 * half hour, and where scrapes arrived late, the scraped samples are asked for as well. So a step
 * may be seen twice; the larger value counts.
 */
#pragma once

#include "decide/plan/prom_query.h"

/** What is asked about, and what it is called with: prom_each_piece(). */
struct url_needs {
    struct prom_client *client;
    const struct plan_reading *reading;
    const char *host;
    struct prom_span span; /* as of the scraped samples: prom_needs_query() */
    int (*see)(const struct prom_answer *answer, size_t series, void *context);
    void *context;
};

/** The needs by uuid: the largest of each step. Errors as prom_each_piece(). */
int url_needs_read(const struct url_needs *needs, struct error *error);

/** The sizes by uuid and window: the last of each step, seen once: a step of which any is recorded
 * has it, for a size stands for an hour. */
int url_sizes_read(const struct url_needs *needs, struct error *error);
