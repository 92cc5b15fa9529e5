// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file kpage_shared.h  One /proc/kpageflags and one /proc/kpagecount for all guests of this
 * process.
 *
 * Both files cover the whole machine and are read at an offset (pread), so all guests can read
 * through one file. They are open while any guest uses them. With a pair of files for each guest, a
 * thousand guests would need eight thousand more descriptors.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

/**
 * Like kpageflags_open() and kpagecount_open(); on a root other than the running system
 * (fsroot.live) each caller gets its own file. Any thread may call it. Give it back with
 * kpage_release(), never with close().
 * @return a file descriptor, or a negative errno
 */
int kpageflags_share(const struct fsroot *root, struct error *error);
int kpagecount_share(const struct fsroot *root, struct error *error);

/** Gives *@p fd back and sets it to -1; the last user's call closes the file. Does nothing with a
 * negative *@p fd. */
void kpage_release(int *fd);
