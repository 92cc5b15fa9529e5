// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file database.h  The connection to SQLite, the same for the writer and for readers. */
#pragma once

#include "base/error.h"

#include <sqlite3.h>

struct store;

/**
 * Opens @p path with nothing switched on that a file could bring along: no triggers, views or
 * extensions, no functions in its schema, no other databases, values of up to a megabyte. Waits for
 * up to two seconds where another process holds a lock.
 * Root follows no symbolic link there (file_follows_links()), nor do the files beside it.
 * @param flags  of sqlite3_open_v2(); with SQLITE_OPEN_URI as a file that is not being written
 *               (immutable, https://www.sqlite.org/uri.html)
 * @return 0; -ELOOP it is a symbolic link; or what SQLite or the file system says. Close @p db in
 *         any case.
 */
int database_connect(sqlite3 **db, const char *path, int flags, struct error *error);

/** Likewise store->path, into store->db. */
int database_open(struct store *store, int flags, struct error *error);

/** Closes it, if it is open. */
void database_close(struct store *store);
