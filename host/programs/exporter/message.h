// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file message.h  Messages of vmwss-exporter, on standard error. */
#pragma once

#include "base/error.h"

/** Prefix of command_error()'s messages in this program. */
#define MESSAGE_PREFIX "vmwss-exporter: "

/** Reports the result @p rc of an action that is repeated: when it begins to fail, when the reason
 * changes, and when it works again. @p failing: the last @p rc that was reported; begins as 0. */
void message_outcome(int *failing, int rc, const struct error *error);
