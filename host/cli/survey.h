// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file survey.h  What every method says of one guest: for `list` and `doctor`. */
#pragma once

#include "domain/domain.h"
#include "guest_ram/guest_ram.h"
#include "sample/method.h"

struct survey {
    struct guest_ram ram;
    struct error busy; /* if set, another vmwss is measuring the guest, and no method was asked */
    size_t n_verdicts;
    struct method_verdict verdicts[METHODS_MAX]; /* of every method, in the order of the table */
    const struct method *chosen;                 /* what auto takes; NULL for none */
};

/** Locates the RAM of @p guest and asks every method. Asking disturbs a measurement, so it locks the guest meanwhile.
 * Free with survey_free(). */
int survey_guest(const struct fsroot *root, const struct guest *guest, struct survey *out,
                 struct error *error);
void survey_free(struct survey *survey);
