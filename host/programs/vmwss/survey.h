// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file survey.h  Probes every method on one guest: for `list` and `doctor`. */
#pragma once

#include "guest/domain/domain.h"
#include "guest/ram/guest_ram.h"
#include "measure/method.h"

struct survey {
    struct guest_ram ram;
    struct error busy; /* if set, another vmwss is measuring the guest, and no method was probed */
    size_t n_verdicts;
    /* one for every method, in the order of the table */
    struct method_verdict verdicts[METHODS_MAX];
    const struct method *chosen; /* the method that auto chooses; NULL: none */
};

/** How much to probe on a guest that vmwssd follows. */
enum survey_depth {
    SURVEY_CHECK, /* nothing: report only vmwssd's method */
    SURVEY_TRY,   /* only the methods that do not disturb vmwssd's panel */
};

/** Locates the RAM of @p guest and probes every method. Probing disturbs a measurement, so it locks
 * the guest meanwhile, and does not touch the panel by which vmwssd follows the guest; that method
 * is not probed again. Free with survey_free(). */
int survey_guest(const struct fsroot *root, const struct guest *guest, enum survey_depth depth,
                 struct survey *out, struct error *error);
void survey_free(struct survey *survey);
