// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file daemon_process.h  Finds the vmwssd that writes a history in /proc: without contacting it,
 * and without special rights.
 *
 * SQLite holds a lock of the file beside the history (FILE-shm) for as long as the database is open
 * (https://www.sqlite.org/walformat.html, "WAL-index"), and /proc/locks shows the owner to every
 * user (proc_locks(5)). Readers hold the same lock, so the process must also have the name of
 * vmwssd.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "show/status.h"

/**
 * @param shm_inode  inode of FILE-shm; 0: there is no such file
 * @return 0; or the error of reading /proc
 */
int daemon_process_find(const struct fsroot *root, uint64_t shm_inode, struct status_daemon *daemon,
                        struct error *error);

/** Returns the inode of FILE-shm beside the history @p database, which may be a symbolic link; 0:
 * there is no such file. */
uint64_t daemon_process_shm_inode(const char *database);

/** Parses "N: POSIX ADVISORY READ PID MAJOR:MINOR:INODE FIRST LAST", a line of /proc/locks: returns
 * true if it is a record lock on a file of that inode, held by *pid. The device is not compared,
 * because some file systems have other device numbers there than in stat(2). */
bool daemon_process_parse_lock(const char *line, uint64_t inode, pid_t *pid);
