// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file whole_file.h  Writes a picture's file completely or not at all. */
#pragma once

#include <stddef.h>

/** Writes @p path, replacing an existing file. Returns 0 or a negative errno; a file (not a device,
 * not a pipe) that could not be written completely is removed. */
int whole_file_write(const char *path, const void *bytes, size_t size);
