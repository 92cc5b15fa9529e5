// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file regrow_output.h  The output of vmwss-guest regrow. */
#pragma once

#include "regrow/curve.h"

enum regrow_end {
    REGROW_SETTLED, /* no more came back */
    REGROW_TIME,    /* the duration was over */
    REGROW_INTERRUPTED,
};

struct regrow_output {
    bool json;
    double window_s;
    double settle_s;
};

/** For people: what was dropped, and the heading; when the curve has its first point. */
void regrow_output_begin(const struct regrow_output *output, const struct regrow_curve *curve);

/** For people: the newest point. */
void regrow_output_point(const struct regrow_output *output, const struct regrow_curve *curve);

/** Prints the result; as JSON one object, schema vmwss.guest_regrow.v1, with the curve. 0 or
 * -ENOMEM. */
int regrow_output_end(const struct regrow_output *output, const struct regrow_curve *curve,
                      enum regrow_end end);
