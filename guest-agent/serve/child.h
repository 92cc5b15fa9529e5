// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file child.h  A child of the agent, for work that may take long: it ends when the agent ends,
 * and holds none of its files, above all not the host's port, which only one process may have open.
 */
#pragma once

#include "base/fsroot.h"

#include <jansson.h>
#include <sys/types.h>

/**
 * Forks a child that writes the JSON that @p make returns to a pipe, and ends.
 * @param fd  the pipe's other end, non-blocking, to be closed by the caller
 * @return the child, or a negative errno
 */
pid_t child_start(const struct fsroot *root, json_t *(*make)(const void *context),
                  const void *context, int *fd);
