// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file kpage_shared.h  One /proc/kpageflags and one /proc/kpagecount for all guests of this
 * process.
 *
 * Both files tell of the whole machine and are read at an offset (pread), so everybody may read
 * through one file. It is open while any guest uses it. A thousand guests, each with its own, would
 * need eight thousand files more.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

/**
 * Like kpageflags_open() and kpagecount_open(); of a root that is not the running system
 * (fsroot.live) the caller gets a file of its own. May be called by any thread. Give it back with
 * kpage_release(), never with close().
 * @return a file descriptor, or a negative errno
 */
int kpageflags_share(const struct fsroot *root, struct error *error);
int kpagecount_share(const struct fsroot *root, struct error *error);

/** Gives *@p fd back and makes it -1; the last one closes the file. Does nothing with a negative
 * *@p fd. */
void kpage_release(int *fd);
