// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kept.h  The common options of history and report: database, span, window, format. */
#pragma once

#include "programs/vmwss/cli.h"
#include "show/history.h"

#include <math.h>

struct kept_choice {
    const char *database; /* --database */
    double since_s;       /* span before the end, if no beginning is given */
    double from_s, to_s;  /* --since, --until: Unix time; NAN: see since_s, and now */
    double window_s;      /* --window; 0: see kept_window() */
    enum show_format format;
};

#define KEPT_CHOICE_DEFAULT                                                              \
    {                                                                                    \
        .database = STORE_DEFAULT_PATH, .since_s = 7 * 86400, .from_s = NAN, .to_s = NAN \
    }

/* The option lines; the command's struct begins with its struct kept_choice. */
#define KEPT_SPAN                              \
    {                                          \
        OPTION_TABLE, .lines = kept_span_lines \
    }
#define RISK_RANGE 10, 500000, "0.001% to 50%"
#define KEPT_DATABASE(offset)                              \
    {                                                      \
        OPTION_TEXT, 'D', "database", "FILE", offset,      \
            .help = "the history (" STORE_DEFAULT_PATH ")" \
    }
#define KEPT_JSON(text) FORMAT_JSON(offsetof(struct kept_choice, format), text)
#define KEPT_CSV FORMAT_CSV(offsetof(struct kept_choice, format))

/** --since, --until and --window. */
extern const struct option_line kept_span_lines[];

/** Returns the span in Unix time; it ends now if no end is given. */
void kept_span(const struct kept_choice *choice, double *from_s, double *to_s);

/** Checks that the span ends after it begins. Returns 0; -EINVAL after printing that it does not.
 */
int kept_span_check(const struct kept_choice *choice);

/** Chooses the requested window; without a request 60 s, or the closest one, as a ratio, among the
 * windows kept for the guest (0: for any) within the span. Returns 0, or as
 * history_windows_within(). */
int kept_window(struct store *store, int64_t guest_id, const struct kept_choice *choice,
                double *window_s, struct error *error);

/** Closes the database, checks that all output was written, and prints any error; returns the exit
 * code. */
int kept_end(struct store *store, int rc, struct error *error);
