// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file advice.h  Prints advice on memory sizes, and its backtest, as tables, with every term, or
 * as JSON lines. */
#pragma once

#include "decide/advice/advice.h"

/** Returns 0 or -ENOMEM, as all functions below. */
int advice_print_table(const struct advice *all, size_t n);
/** Prints every term of the formula, with its value and its source. */
int advice_print_explained(const struct advice *advice);
/** Prints one line, schema vmwss.advice.v1. */
int advice_print_json(const struct advice *advice);

int replayed_print_table(const struct replayed *all, size_t n);
/** Prints one line, schema vmwss.backtest.v1. */
int replayed_print_json(const struct replayed *replayed);
