// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file qemu_config_file.h  Reads a file that QEMU's command line names, as QEMU sees it. */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

/**
 * Reads the file at @p path as process @p pid sees it, relative to its root or its directory. QEMU
 * may be hostile, so links cannot lead out of its root, only a regular file of at most 1 MiB is
 * read, and no call blocks.
 * @param moved  QEMU_MOVED_...
 * @param text   allocated, the caller frees; a NUL follows it
 * @return the length; -ENOENT: there is no such file; -ESTALE: it was changed after QEMU had read
 *         it; or another negative errno. @p error does not name the file.
 */
ssize_t qemu_config_file_read(const struct fsroot *root, pid_t pid, const char *path,
                              unsigned moved, char **text, struct error *error);
