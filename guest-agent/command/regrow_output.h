// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file regrow_output.h  The output of vmwss-guest regrow. */
#pragma once

#include "regrow/curve.h"

enum regrow_end {
    REGROW_SETTLED, /* the cache stopped growing */
    REGROW_TIME,    /* the duration has passed */
    REGROW_INTERRUPTED,
};

struct regrow_output {
    bool json;
    double window_s;
    double settle_s;
};

/** For people: prints what was dropped, and the heading. Call it when the curve has its first
 * point. */
void regrow_output_begin(const struct regrow_output *output, const struct regrow_curve *curve);

/** For people: prints the newest point. */
void regrow_output_point(const struct regrow_output *output, const struct regrow_curve *curve);

/** Prints the result; for JSON, one object with schema vmwss.guest_regrow.v1 and the curve. 0 or
 * -ENOMEM. */
int regrow_output_end(const struct regrow_output *output, const struct regrow_curve *curve,
                      enum regrow_end end);
