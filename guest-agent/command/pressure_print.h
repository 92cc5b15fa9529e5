// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file pressure_print.h  A survey of pressure for people and for scripts. */
#pragma once

#include "proc/pressure_survey.h"

/** Prints @p now, and over the time since @p before unless that is NULL. 0 or -ENOMEM. */
int pressure_print(const struct pressure_survey *before, const struct pressure_survey *now,
                   bool json);
