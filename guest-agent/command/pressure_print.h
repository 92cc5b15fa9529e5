// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pressure_print.h  A survey of pressure for people and for scripts. */
#pragma once

#include "proc/pressure_survey.h"

#include <stdbool.h>
#include <stddef.h>

struct pressure_format {
    bool json;
    /* Those first that stall most, by one resource: over the interval, where there is one, or else
     * by avg10. The whole guest stays in front of its groups. */
    bool sorted;
    int resource; /* of pressure_resources */
    bool full;
    uint64_t top; /* so many groups beside the whole guest; 0: all */
};

/** Takes a --sort: a resource, and perhaps ":some" or ":full". 0, or -EINVAL after saying why. */
int pressure_format_sort(struct pressure_format *format, const char *value);

/** Prints @p now, and over the time since @p before unless that is NULL. 0 or -ENOMEM. */
int pressure_print(const struct pressure_survey *before, const struct pressure_survey *now,
                   const struct pressure_format *format);
