// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file interrupt.h  Waiting that a signal ends, so that a command ends orderly. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** From here on SIGINT, SIGTERM and SIGHUP end waits, and nothing else. */
void interrupt_catch(void);

/** Not 0 once there has been one: for what takes long without waiting. */
const volatile int *interrupt_flag(void);

/** Sleeps until @p until_ns (clock_ns()); beyond two seconds a terminal shows how far it is with @p
 * what. false: interrupted. */
bool interruptible_wait(uint64_t until_ns, const char *what);
