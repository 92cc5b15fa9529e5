// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file balloond.h  Makes one decision after the other: gathers inputs, calls decide/control/, and
 * sets balloons, or in a dry run only reports what it would set.
 */
#pragma once

#include "programs/balloond/context.h"

/** Runs once a second: checks for stalls, and every other time also reads libvirt's data; makes a
 * decision when it is due, or at once for a panic. A failure is logged once, and tried again. */
void balloond_tick(struct balloond *balloond);

/** Ends: restores as configured, and closes everything. Returns 0; or negative: a balloon of the
 * journal could not be restored; this was logged, and the row stays for the next start. */
int balloond_end(struct balloond *balloond);
