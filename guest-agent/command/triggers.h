// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file triggers.h  --trigger, which may be given again and again to those commands that have
 * it. */
#pragma once

#include "proc/stall.h"

#define TRIGGERS_MAX 8
#define TRIGGERS_VALUE "RESOURCE:KIND:THRESHOLD_US:WINDOW_US"

struct triggers {
    unsigned n;
    struct stall_trigger trigger[TRIGGERS_MAX];
};

/** Takes another value of the option, into a struct triggers. 0, or -EINVAL after printing why. */
int triggers_add(void *triggers, const char *value);
