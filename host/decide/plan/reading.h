// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reading.h  What a fleet is read from, and for which time: from_history.h. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/** So much later than everything else, and it is not there any more; a host: than the end. */
#define PLAN_RECENT_S 3600

struct prom_options;

struct plan_source {
    const char *path; /* of a history, or a URL */
    const char *host; /* the name to use for it; NULL: the one in its records. Not of a URL */
};

struct plan_reading {
    const struct plan_source *sources;
    size_t n_sources;
    double from_s, to_s; /* Unix time */
    int step_s;          /* of the fleet; 0: plan_step_s() */
    double window_s;     /* of the needs; sizes are from the guest's longest up to an hour */
    const struct prom_options *prometheus; /* NULL: no source is a URL */
    /* Called with a sentence about what a URL did not have; NULL: not. */
    void (*warn)(const char *text, void *context);
    /* Called with what is done, 0 .. 1; NULL: not. */
    void (*progress)(double done, void *context);
    void *context;
};

/** Warns the caller of plan_read() that something is incomplete. */
void plan_warn(const struct plan_reading *reading, const char *text);
