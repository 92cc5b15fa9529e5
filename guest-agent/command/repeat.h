// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file repeat.h  --interval and --count, which several commands have. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct repeat {
    double interval_s; /* 0: once */
    uint64_t count;    /* 0: for ever */
};

/** Takes the value of 'i' or 'k'. 0, or -EINVAL after printing why. */
int repeat_option(struct repeat *repeat, int option, const char *value);

/** Sleeps an interval and is true, unless there is none, or @p done are enough. */
bool repeat_again(const struct repeat *repeat, uint64_t done);
