// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html.h  Writes text escaped for HTML, and an HTML page as a file. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>

/** Writes @p text escaped for use between tags and in quoted attributes. @p text may be any bytes,
 * such as a guest's name; unprintable characters, and characters that reorder neighbouring text,
 * become '?'. */
void html_text(FILE *out, const char *text);

/** Writes @p name, escaped, between @p before and @p after, which are HTML. It is isolated, so that
 * a name that is written from right to left does not reorder them. */
void html_name(FILE *out, const char *before, const char *name, const char *after);

/** Writes @p path completely or not at all: rename(2) replaces an existing file once all data is on
 * the disk; after an error or kill -9 the existing file is unchanged, and no temporary file is
 * left. A device or a pipe is written directly. Returns 0 or a negative errno with the message. */
int html_file_write(const char *path, const char *text, size_t size, struct error *error);
