// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file progress.h  One line on standard error while an operation takes longer than two
 * seconds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool enabled; /* standard error is a terminal */
    bool drawn;
    uint64_t last_ns;
    char what[64];
};

void progress_init(struct progress *progress, const char *what);

/** Draws at most ten times a second; @p context is a struct progress. For sample_plan.progress. */
void progress_draw(double elapsed_s, double total_s, void *context);

/** Draws @p text for an operation of unknown length: after its first two seconds, and at most ten
 * times a second. */
void progress_say(double elapsed_s, const char *text, struct progress *progress);

/** Clears the line. */
void progress_clear(struct progress *progress);
