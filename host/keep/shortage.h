// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file shortage.h  For how long a report's capacity did not suffice. Pure functions. */
#pragma once

#include "keep/host_need.h"
#include "keep/report.h"

/** Minutes that follow each other and are short; all zero: none yet. */
struct shortage_episode {
    double since_s, until_s; /* Unix time */
};

/** The next minute, by time. */
void shortage_note(struct report *report, struct shortage_episode *episode,
                   const struct host_need *need);

/** An hour of which nothing but a share of random draws is known. */
void shortage_note_hour(struct report *report, struct shortage_episode *episode, double share);
