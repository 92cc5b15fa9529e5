// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file damon_trial.h  Does DAMON see what this guest touches? */
#pragma once

#include "measure/method/trial.h"

/** Measures some hundred pages of the guest, and thousands if none of them was touched. 0, or what
 * damon_trial_judge() answers. */
int damon_sees_guest(const struct target *target, struct error *why);

/**
 * As trial_judge(). Where it refuses, and KVM maps huge pages of this guest in pieces, which the
 * method counts as unmeasurable, @p why says so: the method is not blind to the rest.
 */
int damon_trial_judge(const struct target *target, const struct trial *trial, struct error *why);
