// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file screen.h  `vmwss top`: shows the last record of each guest on the whole screen, and
 * updates it when the daemon adds records. */
#pragma once

#include "show/screen/layout.h"

#include "base/error.h"

struct screen_options {
    const char *database;
    double delay_s; /* interval between checks for new records */
    enum row_key key;
    struct layout_choice columns;
    struct rows_filter filter;
};

/**
 * Shows the screen until the user leaves it, or SIGINT or SIGTERM comes. The terminal is restored
 * in any case.
 * @return 0; -ENOTTY: standard output is not a terminal, or TERM is not known; or an
 * error of the history
 */
int screen_run(const struct screen_options *options, struct error *error);
