// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file state_dir.h  The directory of the history and of vmwss-balloond's journal. It is created
 * if the package has not done so, and belongs to the user that writes it. */
#pragma once

#include "base/error.h"
#include "base/service/account.h"

/**
 * Creates the directory of @p standard if it does not exist and @p database is in it. The directory
 * and files created in it belong to @p account and to READER_GROUP, if that group exists; other
 * users have no access, because a reader of the history can hold locks that block the writer.
 *
 * If started by root, it changes the owner of an existing directory (an older version's belongs to
 * root) and of the old owner's regular files in it to @p account. This needs CAP_CHOWN. A directory
 * at any other path is not touched, because the path may be a mistake.
 * @return 0, or a negative errno with the message
 */
int state_dir_make(const char *database, const char *standard, const struct account *account,
                   struct error *error);

/** Checks that a process running as @p account can write @p database in its directory. 0; -EACCES
 * with the message, which has the remedy. */
int state_dir_check(const char *database, const struct account *account, struct error *error);
