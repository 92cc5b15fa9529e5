// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file child.h  A child of the agent's, for what may take long: it must neither outlive the agent
 * nor keep its files. */
#pragma once

#include <sys/types.h>

/**
 * For the child, after fork(): it is killed when @p parent ends, and of the files beyond standard
 * error only @p one and @p other stay open. The host's port above all is closed: as long as one
 * process has it open, no other may.
 */
void child_begin(pid_t parent, int one, int other);
