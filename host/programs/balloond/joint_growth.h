// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file joint_growth.h  How much the resident memory of all guests together grows within a minute:
 * the amount that only one minute in a thousand exceeds, from vmwssd's history of a week.
 *
 * The host must have that much free when it asks guests to give, or it runs out before they have
 * given (levels.h). The history is read anew every six hours, one guest at each decision, so that
 * no decision waits for all of them. A guest that is not recorded for a while keeps its last size;
 * one that begins grows by all that it has. For ten minutes after a time without any record nothing
 * counts: guests that vmwssd finds then have not begun.
 */
#pragma once

#include "history/history.h"

#define JOINT_MINUTES 10080
/** Fewer minutes do not show one in a thousand. */
#define JOINT_LEAST 1000
/** So long, in minutes, a guest whose next record is late keeps its size. */
#define JOINT_HOLD 10

struct joint_growth {
    uint64_t bytes; /* 0: not known */
    double begun_s; /* Unix time at which the present round, or the last one, began; 0: none */
    struct joint_minutes *minutes;
    struct history_guest *guests; /* of the present round; NULL: there is none */
    size_t n, next;
};

struct joint_minutes {
    int64_t first_s; /* Unix time of the first minute */
    struct {
        bool known; /* some guest has a record */
        double bytes;
    } of[JOINT_MINUTES];
};

/** Reads the next guest, if a round is due. Errors of the history end the round: the amount stays.
 */
void joint_growth_step(struct joint_growth *joint, const char *database, double wall_s);
void joint_growth_free(struct joint_growth *joint);

/** Returns the amount in these minutes; 0: they are too few. */
uint64_t joint_growth_of(const struct joint_minutes *minutes);
