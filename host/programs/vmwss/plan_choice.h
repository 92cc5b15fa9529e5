// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_choice.h  The options of vmwss plan, and applying them to a fleet that has been read.
 */
#pragma once

#include "decide/plan/from_history.h"
#include "decide/plan/plan.h"
#include "decide/plan/prom_client.h"
#include "programs/vmwss/kept.h"

/** "SIZE", or "HOST=SIZE"; or numbers. */
struct plan_sizes {
    const char **all;
    size_t n;
};

struct plan_choice {
    struct kept_choice kept; /* must be first: see kept.h; its database is not used */
    struct plan_source *sources;
    size_t n_sources;
    struct plan_sizes capacities, reserves, cpus;
    const char *cpu_query; /* --cpu-query */
    struct option_list apart, together, pinned, drains;
    struct plan_request request;
    struct prom_options prometheus;
    char *match; /* --match, without braces */
    double size_quantile, size_margin;
    int step_s;       /* --step; 0: not given */
    uint64_t moves;   /* --moves; UINT64_MAX: not given */
    uint64_t spare;   /* --spare */
    const char *html; /* --html */
};

#define PLAN_CHOICE_DEFAULT                                                                        \
    {                                                                                              \
        .kept = {.since_s = 28 * 86400, .from_s = NAN, .to_s = NAN, .window_s = 60},               \
        .request = {.options =                                                                     \
                        {                                                                          \
                            .risk = 0.001,                                                         \
                            .horizon_s = 14 * 86400,                                               \
                        },                                                                         \
                    .terms = MIGRATE_TERMS_DEFAULT},                                               \
        .size_quantile = PLAN_SIZE_QUANTILE, .size_margin = PLAN_SIZE_MARGIN, .moves = UINT64_MAX, \
        .prometheus = {.timeout_s = PROM_TIMEOUT_S},                                               \
    }

/** The options; the values must outlive the choice. */
extern const struct command_options plan_options_table;

/** Adds a source: a history, as "[HOST=]FILE", or a URL. Returns 0; -EINVAL, -ENOMEM after printing
 * the error. @p choice: a struct plan_choice. */
int plan_choice_source(void *choice, const char *value);

/** Returns the length of the name in "NAME=VALUE"; 0: there is no name. A path of this form can be
 * given as "./NAME=VALUE". */
size_t plan_name_length(const char *value);

/** Sets capacities, reserves (if given, or if no URL had them), pins and groups of the fleet.
 * Returns 0; -EINVAL: a host has no capacity, or a name belongs to no host or guest */
int plan_choice_apply(const struct plan_choice *choice, struct plan_fleet *fleet,
                      struct error *error);

void plan_choice_free(struct plan_choice *choice);
