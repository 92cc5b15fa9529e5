// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file daemon_process.h  The vmwssd that writes a history, as /proc shows it: without asking it,
 * and without rights of its own.
 *
 * SQLite holds a lock of the file beside the history (FILE-shm) for as long as the database is open
 * (https://www.sqlite.org/walformat.html, "WAL-index"), and /proc/locks shows to every user whose
 * it is (proc_locks(5)). Readers hold the same one, so a process counts by its name, too.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "show/status.h"

/**
 * @param shm_inode  of FILE-shm; 0: there is none
 * @return 0; or the error of reading /proc
 */
int daemon_process_find(const struct fsroot *root, uint64_t shm_inode, struct status_daemon *daemon,
                        struct error *error);

/** The inode of FILE-shm beside the history @p database, which may be a symbolic link; 0: there is
 * none. */
uint64_t daemon_process_shm_inode(const char *database);

/** "N: POSIX ADVISORY READ PID MAJOR:MINOR:INODE FIRST LAST", a line of /proc/locks: true if it is
 * a record lock on a file of that inode, which is then of *pid. The device is not compared, for
 * some file systems have other numbers of it there than in stat(2). */
bool daemon_process_parse_lock(const char *line, uint64_t inode, pid_t *pid);
