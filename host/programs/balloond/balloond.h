// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file balloond.h  One decision after the other: gathers what is known, lets decide/control/
 * decide, and sets balloons, or in a dry run only says what it would.
 */
#pragma once

#include "programs/balloond/context.h"

/** A tick, each second: sees stalls; every other one also what libvirt says, which decides when it
 * is time, or at once for a panic. What fails is logged, once, and tried again. */
void balloond_tick(struct balloond *balloond);

/** The end: restores what is configured, and closes all. 0; or negative: a balloon of the journal
 * could not be restored, which was logged, and stays there for the next start. */
int balloond_end(struct balloond *balloond);
