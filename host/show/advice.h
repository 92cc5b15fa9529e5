// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file advice.h  Prints advice on memory sizes, and its backtest: as a table, or as a line of
 * JSON for each guest with schema vmwss.advice.v1 or vmwss.backtest.v1. All functions return 0 or
 * -ENOMEM. */
#pragma once

#include "decide/advice/advice.h"
#include "show/sheet.h"

int advice_print(const struct advice *all, size_t n, enum show_format format);
/** Prints a table of every term of the formula, with its value and its source. */
int advice_print_explained(const struct advice *advice);

int replayed_print(const struct replayed *all, size_t n, enum show_format format);
