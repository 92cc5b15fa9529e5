// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html.h  Writes text escaped for HTML. */
#pragma once

#include <stdio.h>

/** Writes @p text escaped for use between tags and in quoted attributes. @p text may be any bytes,
 * such as a guest's name; unprintable characters, and characters that reorder neighbouring text,
 * become '?'. */
void html_text(FILE *out, const char *text);

/** Writes @p name, escaped, between @p before and @p after, which are HTML. It is isolated, so that
 * a name that is written from right to left does not reorder them. */
void html_name(FILE *out, const char *before, const char *name, const char *after);
