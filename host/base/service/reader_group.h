// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reader_group.h  The group that may read the history, and a daemon with only that
 * access. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/** The package makes the group, and the user of the same name, who writes the history
 * (base/service/account.h). */
#define READER_GROUP "vmwss"

/**
 * Gives up all capabilities; executing a program gains none. Root without capabilities owns root's
 * files and sockets, but may not read another user's, so it joins READER_GROUP first, if there is
 * such a group; without CAP_SETGID the service's unit must set the group.
 * @param keep  keeps the capabilities
 * @return 0, or negative with the message
 */
int reader_become(bool keep, struct error *error);
