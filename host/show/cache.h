// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache.h  Prints a guest's use of the last-level cache: tables for people, JSON. */
#pragma once

#include "measure/cache/measure.h"
#include "show/sheet.h"

struct cache_report {
    char host[256];
    const char *domain, *uuid; /* "": not known */
    pid_t pid;
    const struct cache_result *result;
    double cpu_s; /* during this measurement */
};

/** The JSON is one object, schema vmwss.cache.v1. Returns 0 or -ENOMEM. */
int cache_print(const struct cache_report *report, enum show_format format);
