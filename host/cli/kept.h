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

/* The lines of the options; the command's struct begins with its struct kept_choice. */
#define KEPT_SPAN                                                                 \
    {                                                                             \
        OPTION_SPAN, 's', "since", "TIME", offsetof(struct kept_choice, since_s), \
            .help = "how far back: 90m, 12h, 7d, 2w (7d)"                         \
    }
#define KEPT_WINDOW                                                                 \
    {                                                                               \
        OPTION_SECONDS, 'w', "window", "S", offsetof(struct kept_choice, window_s), \
            .help = "the window, in seconds, among those that are kept (60)"        \
    }
#define KEPT_DATABASE(offset)                              \
    {                                                      \
        OPTION_TEXT, 'D', "database", "FILE", offset,      \
            .help = "the history (" STORE_DEFAULT_PATH ")" \
    }
#define KEPT_JSON(text)                                                          \
    {                                                                            \
        OPTION_CALL, 'j', "json", NULL, 0, .help = (text), .call = kept_set_json \
    }
#define KEPT_CSV                                                                          \
    {                                                                                     \
        OPTION_CALL, 0, "csv", NULL, 0, .help = "comma-separated values, with a heading", \
                                        .call = kept_set_csv                              \
    }

int kept_set_json(void *choice, const char *value);
int kept_set_csv(void *choice, const char *value);

/** The span ends now. */
void kept_span(const struct kept_choice *choice, double *from_s, double *to_s);

/** Opens the database for the command; prints nothing. */
int kept_open(const struct kept_choice *choice, struct store **store, struct error *error);

/** Closes it, sees to it that all was printed, and tells what went wrong; the exit code. */
int kept_end(struct store *store, int rc, struct error *error);
