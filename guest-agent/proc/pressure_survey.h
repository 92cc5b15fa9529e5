// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pressure_survey.h  The pressure of the whole guest, of one cgroup, or of all cgroups, at
 * one moment and between two. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "proc/pressure.h"

#include <stdbool.h>
#include <stddef.h>

#define PRESSURE_RESOURCES 3

struct pressure_group {
    char *cgroup; /* "/system.slice"; NULL: the whole guest */
    /* in the order of pressure_resources; an unknown resource has only unknown members */
    struct pressure of[PRESSURE_RESOURCES];
    /* why all resources are unknown; NULL: some are known */
    char *off;
};

/* The index of a group, by its name. */
struct pressure_name {
    const char *cgroup;
    const struct pressure_group *group;
};

struct pressure_survey {
    struct pressure_group
        *group; /* first the whole guest or the requested cgroup, then the others by name */
    size_t n;
    size_t refused;                /* number of groups whose children may not be listed */
    struct pressure_name *by_name; /* all groups, sorted for pressure_survey_find() */
    uint64_t taken_ns;             /* clock_ns() */
};

struct pressure_scope {
    const char *cgroup; /* only this cgroup, with or without a leading "/"; NULL: see all */
    bool all;           /* the whole guest and all its cgroups */
};

/** Returns the path of the cgroup relative to the root, for pressure_read() and
 * stall_trigger_open(), in an allocation that the caller frees; NULL with the message. */
char *pressure_scope_path(const struct fsroot *root, const char *cgroup, struct error *error);

/** Reads a survey. 0, then call pressure_survey_free(); or a negative errno with the message. */
int pressure_survey_take(const struct fsroot *root, const struct pressure_scope *scope,
                         struct pressure_survey *survey, struct error *error);
void pressure_survey_free(struct pressure_survey *survey);

/** Fills in by_name. pressure_survey_take() calls it; call it for a survey built in another way. 0
 * or -ENOMEM. */
int pressure_survey_index(struct pressure_survey *survey);

/** Finds the same cgroup's group in an earlier survey by binary search, because there may be tens
 * of thousands. NULL if there was none. */
const struct pressure_group *pressure_survey_find(const struct pressure_survey *survey,
                                                  const char *cgroup);

/** The percentage of the time between two surveys in which tasks waited; NAN if either survey lacks
 * it. */
double pressure_share(const struct stalled *before, const struct stalled *after, uint64_t ns);
