// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html.h  Text in HTML, and a page as a file. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>

/** Writes @p text so that it is text, between tags as in a quoted attribute: it may be any bytes,
 * as a guest's name is; what cannot be shown, or reorders what stands beside it, becomes '?'. */
void html_text(FILE *out, const char *text);

/** Writes @p path whole or not at all: what was there before is replaced by rename(2) once all is
 * on the disk, and stays as it was after an error or a kill -9, which leave no other file. A
 * device or a pipe is written into. 0 or a negative errno with the message. */
int html_file_write(const char *path, const char *text, size_t size, struct error *error);
