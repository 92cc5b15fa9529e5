// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file damon_trial.h  A trial whether DAMON sees this guest's touches. */
#pragma once

#include "measure/method/trial.h"

/** Measures some hundred pages of the guest, and thousands if none of them was touched. 0, or the
 * error of damon_trial_judge(). */
int damon_sees_guest(const struct target *target, struct error *why);

/**
 * As trial_judge(). If it refuses, and KVM maps huge pages of this guest in pieces, which the
 * method counts as unmeasurable, @p why says so: the method still sees the other pages.
 */
int damon_trial_judge(const struct target *target, const struct trial *trial, struct error *why);
