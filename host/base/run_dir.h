// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file run_dir.h  Files in /run/vmwss: locks (run_lock.h) and panels (neighbour.h).
 *
 * A process that may open nothing for writing has another one do it
 * (programs/vmwssd/scanner/lock_keeper.h): all others use the file system itself.
 */
#pragma once

#include "base/fsroot.h"

#include <sys/types.h>

#define RUN_DIR "run/vmwss"
#define RUN_DIR_LOCK ".lock"
#define RUN_DIR_PANEL ".panel" /* the suffix of a file that is emptied when it is created */
#define RUN_DIR_NAME_MAX 40    /* bytes of a name in it, with the final zero */

/**
 * The name of a file of the guest that process @p pid runs: "guest-PID" and @p suffix. Where the
 * process is in a PID namespace of its own (a container), PID is the one that it has there, and the
 * namespace's number follows, "guest-PID-NUMBER": the name is the same in all namespaces that see
 * the process (proc_pid_status(5), NSpid; pid_namespaces(7)).
 */
void run_dir_guest_file(const struct fsroot *root, pid_t pid, const char *suffix,
                        char file[RUN_DIR_NAME_MAX]);

/** Opens the directory, and creates it if it does not exist. Returns its descriptor or a negative
 * errno. */
int run_dir_open(const struct fsroot *root);

/** Opens @p file of the directory for reading and writing, and creates it, for root alone, if it
 * does not exist. Returns its descriptor or a negative errno. */
int run_dir_create(int dir_fd, const char *file);

/** Removes @p file of the directory. Returns 0 or a negative errno. */
int run_dir_remove(int dir_fd, const char *file);

/** Functions that run_dir_create() and run_dir_remove() call instead. */
struct run_dir_keeper {
    int (*create)(const char *file);
    int (*remove)(const char *file);
};

/** From now on @p keeper does both; NULL: the file system. */
void run_dir_keep(const struct run_dir_keeper *keeper);
