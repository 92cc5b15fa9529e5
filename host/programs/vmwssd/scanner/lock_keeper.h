// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file lock_keeper.h  The process that creates and removes the scanner's files in /run/vmwss.
 *
 * The scanner's filter of system calls refuses to open any file for writing, so that an attacker
 * in it, who is user 0, cannot write root's files, /proc/sys, or the memory of another process
 * (/proc/PID/mem). Its locks and panels are files nevertheless. This child of the scanner, without
 * any capability, creates them, and passes their descriptors. It takes only the names of a guest's
 * lock, a guest's panel and vmwssd's own lock, and Landlock limits it to /run/vmwss.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stdbool.h>

enum lock_keeper_op { LOCK_KEEPER_CREATE = 1, LOCK_KEEPER_REMOVE };

/** Returns true if a message of @p size bytes is a request that the keeper serves; the request's
 * operation and file are at @p op and @p file, which is part of the message. */
bool lock_keeper_parse(const void *message, size_t size, enum lock_keeper_op *op,
                       const char **file);

/** Starts it; call it while there is one thread and before privileges_drop_scanner(). Returns a
 * descriptor that is readable once the keeper has ended, or a negative errno with the message. */
int lock_keeper_start(const struct fsroot *root, struct error *error);
