// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file survey.h  What every method says of one guest: for `list` and `doctor`. */
#pragma once

#include "guest/domain/domain.h"
#include "guest/ram/guest_ram.h"
#include "measure/method.h"

struct survey {
    struct guest_ram ram;
    struct error busy; /* if set, another vmwss is measuring the guest, and no method was asked */
    size_t n_verdicts;
    struct method_verdict verdicts[METHODS_MAX]; /* of every method, in the order of the table */
    const struct method *chosen;                 /* what auto takes; NULL for none */
};

/** What a guest that vmwssd follows is to be put through. */
enum survey_depth {
    SURVEY_CHECK, /* nothing: what vmwssd does by is what there is to say */
    SURVEY_TRY,   /* the methods that leave its panel alone */
};

/** Locates the RAM of @p guest and asks every method. Asking disturbs a measurement, so it locks
 * the guest meanwhile, and keeps off the panel by which vmwssd follows it, which is not tried
 * again. Free with survey_free(). */
int survey_guest(const struct fsroot *root, const struct guest *guest, enum survey_depth depth,
                 struct survey *out, struct error *error);
void survey_free(struct survey *survey);
