// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file textfile.h  A file that node_exporter's textfile collector reads: whole at any time, as it
 * is put in place by a rename.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

/** Replaces the file, with mode 0644, by way of PATH.tmp beside it, which the collector does not
 * read. 0; -ENOSPC, -EACCES,
 *  ...: the old one is as it was. */
int textfile_write(const char *path, const char *text, size_t size, struct error *error);

/** Removes it, and what a killed predecessor may have left of PATH.tmp. */
void textfile_remove(const char *path);
