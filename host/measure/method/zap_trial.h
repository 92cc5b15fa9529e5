// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file zap_trial.h  A trial whether method `zap` sees this guest's faults: on random pages, and
 * on whole stretches of a guest whose working set is so small that random pages miss it. */
#pragma once

#include "base/error.h"
#include "guest/ram/target.h"

/** 0: it saw faults, or the guest did not run, so that nothing can be proven; else a negative errno
 * with the reason. */
int zap_sees_guest(const struct target *target, struct error *why);
