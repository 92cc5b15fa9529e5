// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file database.h  The connection to SQLite, for the writer and for readers. */
#pragma once

#include "base/error.h"

#include <sqlite3.h>

struct store;
struct read_limit; /* limit.h */

/**
 * Opens @p path. Disables all active content of a file: triggers, views, extensions, functions in
 * its schema, virtual tables, other databases. Limits values to a megabyte. Waits up to two seconds
 * for another process's lock. As root it follows no symbolic link to the file
 * (file_follows_links()) or to the files beside it.
 * @param flags  for sqlite3_open_v2(); with SQLITE_OPEN_URI the file is opened as one that does
 *               not change (immutable, https://www.sqlite.org/uri.html)
 * @param limit  set to what the size of the file allows, for all statements, the first included; it
 *               stays with @p db. NULL: no limit
 * @return 0; -ELOOP it is a symbolic link; or the error of SQLite or the file system. Close @p db
 * in any case.
 */
int database_connect(sqlite3 **db, const char *path, int flags, struct read_limit *limit,
                     struct error *error);

/** Opens store->path into store->db, in the same way. */
int database_open(struct store *store, int flags, struct error *error);

/** Closes the database if it is open. */
void database_close(struct store *store);
