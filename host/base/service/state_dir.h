// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file state_dir.h  The directory of the history, and of vmwss-balloond's journal: made here if
 * the package has not made it, and given to the user that writes it. */
#pragma once

#include "base/error.h"
#include "base/service/account.h"

/**
 * Makes the directory of @p standard, if @p database is in that directory and it does not exist. It
 * belongs to @p account and, if it exists, to the group READER_GROUP, and so do files made in it;
 * it is closed to others. A user who can read the history can hold locks of it that the writer
 * waits for.
 *
 * If started by root: an existing directory of another user (such as root's of an older version) is
 * given to @p account, with that user's regular files in it. This takes CAP_CHOWN. A directory with
 * another path is neither made nor given, because the path may be a mistake.
 * @return 0, or a negative errno with the message
 */
int state_dir_make(const char *database, const char *standard, const struct account *account,
                   struct error *error);

/** For a process that has become @p account: checks that @p database can be written in its
 * directory. 0; -EACCES with the message, which has the remedy. */
int state_dir_check(const char *database, const struct account *account, struct error *error);
