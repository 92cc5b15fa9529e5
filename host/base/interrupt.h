// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file interrupt.h  SIGINT, SIGTERM and SIGHUP, for commands that restore something before they
 * end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Not 0 after the first of these signals. */
extern volatile int interrupted;

/** Installs handlers that set interrupted. Signals also interrupt blocking calls: there is no
 * SA_RESTART. */
void interrupt_catch(void);

/** Sleeps until @p until_ns (clock_ns()); a wait of more than two seconds shows its progress, with
 * @p what, on a terminal. Returns false if interrupted. */
bool interrupt_wait(uint64_t until_ns, const char *what);
