// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file whole_file.h  Writes a picture or an HTML page as a file. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/** Writes @p path completely or not at all: rename(2) replaces an existing file once all data is on
 * the disk; after an error or kill -9 the existing file is unchanged, and no temporary file is
 * left. A device or a pipe is written directly. Returns 0 or a negative errno with the message. */
int whole_file_write(const char *path, const char *text, size_t size, struct error *error);
