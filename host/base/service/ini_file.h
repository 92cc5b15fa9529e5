// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ini_file.h  A configuration file in the INI format, read by inih. */
#pragma once

#include "base/error.h"

/** Takes one key of the file; 0, or a negative errno with the message, which ends the reading. */
typedef int (*ini_take)(void *context, const char *section, const char *key, const char *value,
                        struct error *error);

/** Reads the file at @p path. 0; -EINVAL with "FILE:LINE: ..."; -ENOENT ... if it cannot be
 * opened. */
int ini_file_read(const char *path, ini_take take, void *context, struct error *error);
