// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pressure_survey.h  The pressure of the whole guest, of one cgroup, or of all, at one
 * moment; and between two. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "proc/pressure.h"

#include <stdbool.h>
#include <stddef.h>

#define PRESSURE_RESOURCES 3

struct pressure_group {
    char *cgroup;                           /* "/system.slice"; NULL: the whole guest */
    struct pressure of[PRESSURE_RESOURCES]; /* in the order of pressure_resources; unknown ones are
                                               all unknown */
    char *off;                              /* why all are unknown; NULL: some are known */
};

/* Where the group of a name is. */
struct pressure_name {
    const char *cgroup;
    const struct pressure_group *group;
};

struct pressure_survey {
    struct pressure_group
        *group; /* the whole guest's or the one that was asked for, then the rest by name */
    size_t n;
    size_t refused;                /* groups whose children we may not list */
    struct pressure_name *by_name; /* all of them: pressure_survey_find() */
    uint64_t taken_ns;             /* clock_ns() */
};

struct pressure_scope {
    const char *cgroup; /* this one only ("/" or without it at its beginning), unless NULL */
    bool all;           /* the whole guest, and all its cgroups */
};

/** Where the scope's cgroup stands below the root: for pressure_read() and stall_trigger_open(). An
 * allocation that the caller frees; NULL with the message. */
char *pressure_scope_path(const struct fsroot *root, const char *cgroup, struct error *error);

/** 0, then give it to pressure_survey_free(); or a negative errno with the message. */
int pressure_survey_take(const struct fsroot *root, const struct pressure_scope *scope,
                         struct pressure_survey *survey, struct error *error);
void pressure_survey_free(struct pressure_survey *survey);

/** Fills in by_name; called by pressure_survey_take(), and for a survey that was built otherwise. 0
 * or -ENOMEM. */
int pressure_survey_index(struct pressure_survey *survey);

/** The group of the same cgroup in an earlier survey, within as many steps as the logarithm of
 * their number: there may be tens of thousands. NULL when there was none. */
const struct pressure_group *pressure_survey_find(const struct pressure_survey *survey,
                                                  const char *cgroup);

/** The share of the time between the two surveys in which tasks waited, in percent; NAN if either
 * survey lacks it. */
double pressure_share(const struct stalled *before, const struct stalled *after, uint64_t ns);
