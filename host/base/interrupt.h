// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file interrupt.h  SIGINT, SIGTERM and SIGHUP, for commands that put something right before they
 * end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Not 0 once one of them came. */
extern volatile int interrupted;

/** From here on they set interrupted, and end waiting calls: there is no SA_RESTART. */
void interrupt_catch(void);

/** Sleeps until @p until_ns (clock_ns()); beyond two seconds a terminal shows how far it is with @p
 * what. false: interrupted. */
bool interrupt_wait(uint64_t until_ns, const char *what);
