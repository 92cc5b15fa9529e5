// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file dirty.h  How much a guest writes within any time: a measured write curve, read between and
 * beyond its windows.
 *
 * Between two windows the curve is a power of time, a straight line in log-log. Outside of them it
 * is continued by the same power as in the nearest two windows, and the bounds are those of any
 * guest whose habits do not change: a longer time has no fewer pages, and twice the time has no
 * more than twice the pages.
 */
#pragma once

#include "measure/estimate/write_curve.h"

/** Which reading of the curve: the number itself, or one of its bounds. */
enum dirty_bound { DIRTY_LOW, DIRTY_MIDDLE, DIRTY_HIGH };

/** Bytes written at least once within @p seconds, at most @p ram_bytes. 0 for a curve without
 * windows. Never falls with time; its value is between the two others of the same time. */
double dirty_bytes(const struct write_curve *curve, enum dirty_bound bound, double seconds,
                   double ram_bytes);
