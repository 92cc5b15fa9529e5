// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file whole_file.h  A picture's file: whole, or not there. */
#pragma once

#include <stddef.h>

/** Writes @p path, replacing what was there. 0 or a negative errno; a file (not a device, not a
 * pipe) that could not be written whole is removed. */
int whole_file_write(const char *path, const void *bytes, size_t size);
