// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reader_group.h  The group that may read the history, and a daemon that may do no more. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/** The package makes it, with the user of that name, who writes the history
 * (base/service/account.h). */
#define READER_GROUP "vmwss"

/**
 * Gives up all capabilities, and gains none by executing a program. Root without capabilities owns
 * root's files and sockets, but may not read another user's, so it joins READER_GROUP first, if
 * there is one; without CAP_SETGID the service's unit has to give the group.
 * @param keep  keeps the capabilities
 * @return 0, or negative with the message
 */
int reader_become(bool keep, struct error *error);
