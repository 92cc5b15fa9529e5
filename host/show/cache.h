// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cache.h  What a guest does to the last-level cache: tables for people, JSON. */
#pragma once

#include "measure/cache/measure.h"

struct cache_report {
    char host[256];
    const char *domain, *uuid; /* "": unknown */
    pid_t pid;
    const struct cache_result *result;
    double cpu_s; /* of this measurement */
};

/** 0 or -ENOMEM. */
int cache_print(const struct cache_report *report);

/** One object, schema vmwss.cache.v1. 0 or -ENOMEM. */
int cache_json_print(const struct cache_report *report);
