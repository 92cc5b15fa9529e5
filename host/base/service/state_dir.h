// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file state_dir.h  The directory of the history, and of vmwss-balloond's journal: made where the
 * package has not made it, and given to the user that writes it. */
#pragma once

#include "base/error.h"
#include "base/service/account.h"

/**
 * Makes the directory of @p standard, if that is what @p database names and it is not there:
 * for @p account and, if there is one, the group READER_GROUP, which what is made in it belongs to
 * as well; for others closed. A user who can read the history can hold locks of it that the writer
 * waits for.
 *
 * Started by root: one that is there and belongs to another user, as root's of an older version
 * does, is given to @p account with the regular files of that user in it. Takes CAP_CHOWN. A
 * directory of another path is neither made nor given, for it may be a mistake.
 * @return 0, or a negative errno with the message
 */
int state_dir_make(const char *database, const char *standard, const struct account *account,
                   struct error *error);

/** For who has become @p account: can @p database be written there? 0; -EACCES with the message,
 * which names the remedy. */
int state_dir_check(const char *database, const struct account *account, struct error *error);
