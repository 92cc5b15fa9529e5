// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file interrupt.h  SIGINT, SIGTERM and SIGHUP, for commands that put something right before they
 * end. */
#pragma once

/** Not 0 once one of them came. */
extern volatile int interrupted;

/** From here on they set interrupted, and end waiting calls: there is no SA_RESTART. */
void interrupt_catch(void);
