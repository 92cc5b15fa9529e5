// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file triggers.h  The option --trigger, which can be given repeatedly. */
#pragma once

#include "proc/stall.h"

#define TRIGGERS_MAX 8
#define TRIGGERS_VALUE "RESOURCE:KIND:THRESHOLD_US:WINDOW_US"

struct triggers {
    unsigned n;
    struct stall_trigger trigger[TRIGGERS_MAX];
};

/** Adds a value of the option to a struct triggers. 0, or -EINVAL after printing the reason. */
int triggers_add(void *triggers, const char *value);
