// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pressure_print.h  Prints a survey of pressure, for people and for programs. */
#pragma once

#include "proc/pressure_survey.h"

#include <stdbool.h>
#include <stddef.h>

struct pressure_format {
    bool json;
    /* Sort groups by the stalls of one resource, the largest first: over the interval if there is
     * one, otherwise by avg10. The whole guest stays before its groups. */
    bool sorted;
    int resource; /* of pressure_resources */
    bool full;
    uint64_t top; /* maximum number of groups besides the whole guest; 0: all */
};

/** Parses the value of --sort: a resource, optionally followed by ":some" or ":full". 0, or -EINVAL
 * after printing the reason. */
int pressure_format_sort(void *at, const char *value);

/** Prints @p now, and the pressure since @p before unless that is NULL. 0 or -ENOMEM. */
int pressure_print(const struct pressure_survey *before, const struct pressure_survey *now,
                   const struct pressure_format *format);
