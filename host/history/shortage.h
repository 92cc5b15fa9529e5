// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file shortage.h  For how long a capacity did not suffice. Pure functions. */
#pragma once

#include "history/host_need.h"

struct shortage {
    double capacity_bytes;
    double short_s, low_s, high_s, longest_s; /* as of struct report */
    bool rough;
    double since_s, until_s; /* the last episode, Unix time; both 0: none yet */
};

/** The next minute, by time. */
void shortage_note(struct shortage *shortage, const struct host_need *need);

/** An hour of which nothing but a share of random draws is known. */
void shortage_note_hour(struct shortage *shortage, double share);
