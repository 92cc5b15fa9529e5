// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file rules.h  Rules that set balloons, on the model of model.h: ours, by the code of the
 * controller, and three of others, each written anew from its published formula.
 *
 *   MOM        (oVirt's balloon.rules) Under pressure, with less than 20 % of the host free, each
 *              guest goes down to what it uses and 20 %, by at most 5 % every ten seconds; without,
 *              each goes up by at least 5 %. What it uses is the mean of ten samples of
 *              B - unused (MemFree): page cache counts as used.
 *   Proxmox    (pvestatd's automatic ballooning) The host is to use 80 % of its memory. What is
 *              there for guests beyond their minimum, a quarter of what is assigned here, is
 * divided by shares; each follows by at most 100 MiB every ten seconds, and differences of less
 *              than 10 MiB of the host are left. Guests begin at their minimum.
 *   WSS + 25 % Every minute 1.25 times the working set of the last minute, and at least a quarter
 * of what is assigned.
 *
 * They are not those programs: no more than what their rules say.
 */
#pragma once

#include "past.h"

/** Terms of our rule that can be left out, to see what each costs; a set of bits. */
enum sim_term {
    WITHOUT_DAY = 1 << 0,        /* the largest working set of 24 h */
    WITHOUT_PAST = 1 << 1,       /* the needs of 36 days */
    WITHOUT_BACKTEST = 1 << 2,   /* its veto */
    WITHOUT_FIRST_DAY = 1 << 3,  /* the wait until a day is known */
    WITHOUT_STATISTICS = 1 << 4, /* the veto for guests that report none */
    WITHOUT_RESERVE = 1 << 5,
    WITHOUT_BAND = 1 << 6,
    WITHOUT_LEARNED = 1 << 7,
    WITHOUT_TURN_PAUSE = 1 << 8, /* of an hour after growth */
    WITHOUT_HEADROOM = 1 << 9,   /* the factors of the windows */
    WITHOUT_PACE = 1 << 10,      /* ten minutes, and the steps */
};
#define N_TERMS 11
extern const char *const sim_terms[N_TERMS];

struct rules_state {
    struct control_policy policy;
    unsigned without; /* enum sim_term */
    enum control_level level;
    uint64_t waiting_bytes;
    struct control_ease ease;
    struct control_guest guests[SIM_MAX_GUESTS];
    struct sim_past pasts[SIM_MAX_GUESTS];
    uint64_t used[SIM_MAX_GUESTS][10]; /* MOM's samples */
    unsigned n_used;
};

struct rule {
    const char *name;
    bool ours;
    void (*begin)(struct rules_state *state, struct sim *sim); /* may be NULL */
    void (*second)(struct rules_state *state, struct sim *sim);
};

#define N_RULES 5
/** The first sets nothing. */
extern const struct rule rules[N_RULES];
