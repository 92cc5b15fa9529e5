// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file interrupt.h  SIGINT, SIGTERM and SIGHUP, for commands that restore something before they
 * end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Not 0 once one of the signals has come. */
extern volatile int interrupted;

/** From now on the signals set interrupted, and end waiting calls: there is no SA_RESTART. */
void interrupt_catch(void);

/** Sleeps until @p until_ns (clock_ns()); if that takes more than two seconds, shows the progress
 * on a terminal, with @p what. false: interrupted. */
bool interrupt_wait(uint64_t until_ns, const char *what);
