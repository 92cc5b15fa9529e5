// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file progress.h  One line on standard error while an operation takes longer than two
 * seconds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool enabled; /* standard error is a terminal */
    bool drawn;
    uint64_t began_ns, last_ns;
    char what[64];
};

/** Begins the operation. */
void progress_init(struct progress *progress, const char *what);

/** Draws at most ten times a second; @p context is a struct progress. For sample_plan.progress. */
void progress_draw(double elapsed_s, double total_s, void *context);

/** Draws the text for an operation of unknown length: after its first two seconds, and at most ten
 * times a second. */
void progress_say(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Clears the line. */
void progress_clear(struct progress *progress);
