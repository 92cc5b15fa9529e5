// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file seen.h  The files and directories that were looked at already: each counts once, whatever
 * leads to it. */
#pragma once

#include <sys/types.h>

/** Begins empty ({0}). */
struct seen {
    void *tree; /* of tsearch(3) */
};

/** Adds a file by its device and inode. 1 if it is new, 0 if it was there, -ENOMEM. */
int seen_add(struct seen *seen, dev_t device, ino_t inode);

void seen_free(struct seen *seen);
