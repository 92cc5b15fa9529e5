// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file child.h  A child of the agent for work that may take long. It ends when the agent ends, and
 * holds none of the agent's files, in particular not the host's port, which only one process can
 * have open.
 */
#pragma once

#include "base/fsroot.h"

#include <jansson.h>
#include <sys/types.h>

/**
 * Forks a child that writes the JSON returned by @p make to a pipe, and then ends.
 * @param fd  the other end of the pipe, non-blocking; the caller closes it
 * @return the child's pid, or a negative errno
 */
pid_t child_start(const struct fsroot *root, json_t *(*make)(const void *context),
                  const void *context, int *fd);
