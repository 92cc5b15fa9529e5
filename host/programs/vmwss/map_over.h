// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file map_over.h  vmwss map --over: maps of the same pages, period after period. */
#pragma once

#include "measure/record/map_series.h"
#include "programs/vmwss/sampling.h"

/* A picture of more periods could not be read. */
#define MAP_OVER_MAX_PERIODS 4096

struct map_over {
    struct session *session;
    double over_s;
    /* Hands over the map of the last measurement, which the plan's collected() made. Returns 0; a
     * negative errno with the message. */
    int (*take)(void *context, struct ram_map *map, struct error *error);
    /* Shows a period when it is complete. Returns 0; a negative errno with the message. */
    int (*show)(void *context, const struct ram_map *map, const struct sample_record *record,
                struct error *error);
    void *context;
    struct map_series *series; /* collects the periods; NULL: they are only shown */
};

/**
 * Measures until the time is over, one window after the other, on the same pages. A period in which
 * nothing could be measured is reported and left out.
 * @return 0; or a negative errno with the message, including -EINTR: the series has the periods up
 *         to then in any case
 */
int map_over_run(struct map_over *over, struct error *error);
