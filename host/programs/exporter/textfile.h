// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file textfile.h  A file for node_exporter's textfile collector: complete at any time, because a
 * rename puts it in place.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

/** Replaces the file, with mode 0644, through PATH.tmp beside it, which the collector does not
 * read. Returns 0; -ENOSPC, -EACCES, ...: the old file is unchanged. */
int textfile_write(const char *path, const char *text, size_t size, struct error *error);

/** Removes the file, and a PATH.tmp that a killed process may have left. */
void textfile_remove(const char *path);
