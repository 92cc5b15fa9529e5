// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file shortage.h  The time for which a capacity did not suffice. Pure functions. */
#pragma once

#include "history/host_need.h"

struct shortage {
    double capacity_bytes;
    /* The time for which the capacity did not suffice, its bounds, and the longest such episode. If
     * only an hour's distribution is stored, short_s is an estimate within the bounds, and the
     * longest episode is not known. */
    double short_s, low_s, high_s, longest_s;
    bool rough;
    double since_s, until_s; /* the last episode, Unix time; both 0: no episode yet */
};

/** Adds the next minute, in the order of time. */
void shortage_note(struct shortage *shortage, const struct host_need *need);

/** Adds an hour of which only the share of random draws above the capacity is known. */
void shortage_note_hour(struct shortage *shortage, double share);
