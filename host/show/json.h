// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file json.h  Small helpers around jansson for everything that prints JSON. */
#pragma once

#include <jansson.h>

/** A JSON string, of text that is not UTF-8 as utf8_clean() makes it; null for NULL or empty
 * text. */
json_t *json_text(const char *text);

/** Prints the object as one line to standard output, flushes, and releases it. -ENOMEM or 0. */
int json_print_line(json_t *object);
