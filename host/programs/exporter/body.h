// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file body.h  A body that is sent to several clients at once: one copy in memory, with a
 * reference count. */
#pragma once

#include <stddef.h>

struct body {
    char *text; /* has a NUL behind it that is not counted */
    size_t size;
    int holders; /* atomic */
};

/** Takes ownership of @p text, with one holder; also on failure. Returns NULL if out of memory. */
struct body *body_new(char *text, size_t size);

/** Adds a holder. From any thread. */
struct body *body_hold(struct body *body);

/** Removes a holder: the last one frees the body. From any thread; accepts NULL. */
void body_release(struct body *body);
