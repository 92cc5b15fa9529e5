// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file state_dir.h  The directory of the history, where the service manager has not made it. */
#pragma once

#include "base/error.h"

/** The group that may read the history; the package makes it. */
#define STATE_GROUP "vmwss"

/**
 * Makes the directory of STORE_DEFAULT_PATH, if that is what @p database names and it is not there:
 * for root and, if there is one, the group STATE_GROUP, which what is made in it belongs to as
 * well; for others closed. Whoever can read the history can hold locks of it that the writer waits
 * for. Takes CAP_CHOWN. A directory of another path is not made, for it may be a mistake.
 * @return 0, or the errno of mkdir(2) with the message
 */
int state_dir_make(const char *database, struct error *error);
