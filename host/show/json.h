// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file json.h  Small helpers around jansson for everything that prints JSON. */
#pragma once

#include <jansson.h>

/** A JSON string; null for NULL, empty or non-UTF-8 text. */
json_t *json_text(const char *text);

/** Prints the object as one line to standard output, flushes, and releases it. -ENOMEM or 0. */
int json_print_line(json_t *object);
