// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file reader_group.h  The group that may read the history, and how a daemon limits itself to
 * that access. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/** The package creates this group and the user of the same name, which writes the history
 * (base/service/account.h). */
#define READER_GROUP "vmwss"

/**
 * Drops all capabilities permanently: executing a program gains none. Root without capabilities may
 * not read other users' files, so it first joins READER_GROUP, if the group exists; without
 * CAP_SETGID the service's unit must set the group.
 * @param keep  keep the capabilities
 * @return 0, or negative with the message
 */
int reader_become(bool keep, struct error *error);
