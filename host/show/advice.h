// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file advice.h  Advice on memory sizes, and its backtest, as tables, with every term, or as JSON
 * lines. */
#pragma once

#include "decide/advice/advice.h"

/** 0 or -ENOMEM, likewise below. */
int advice_print_table(const struct advice *all, size_t n);
/** Every term of the formula, with its value and where that is from. */
int advice_print_explained(const struct advice *advice);
/** One line, schema vmwss.advice.v1. */
int advice_print_json(const struct advice *advice);

int replayed_print_table(const struct replayed *all, size_t n);
/** One line, schema vmwss.backtest.v1. */
int replayed_print_json(const struct replayed *replayed);
