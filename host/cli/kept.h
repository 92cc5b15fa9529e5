// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kept.h  What history and report share: which database, how far back, which window, in what
 * format. */
#pragma once

#include "cli/cli.h"
#include "show/history.h"

struct kept_choice {
    const char *database; /* --database */
    double since_s;       /* --since: how far back */
    double window_s;      /* --window */
    enum show_format format;
};

#define KEPT_CHOICE_DEFAULT                                                  \
    {                                                                        \
        .database = STORE_DEFAULT_PATH, .since_s = 7 * 86400, .window_s = 60 \
    }

#define KEPT_LONG_OPTIONS                                                                \
    {"database", required_argument, NULL, 'D'}, {"since", required_argument, NULL, 's'}, \
        {"window", required_argument, NULL, 'w'}, {"json", no_argument, NULL, 'j'},      \
        {"csv", no_argument, NULL, 'v'},                                                 \
    {                                                                                    \
        "help", no_argument, NULL, 'h'                                                   \
    }
#define KEPT_SHORT_OPTIONS "D:s:w:jh"

/** Handles the options above but 'h'. 0; -EINVAL after printing what is wrong. */
int kept_option(struct kept_choice *choice, int option, const char *value);

/** The span ends now. */
void kept_span(const struct kept_choice *choice, double *from_s, double *to_s);

/** Opens the database for the command; prints nothing. */
int kept_open(const struct kept_choice *choice, struct store **store, struct error *error);

/** Closes it, sees to it that all was printed, and tells what went wrong; the exit code. */
int kept_end(struct store *store, int rc, struct error *error);
