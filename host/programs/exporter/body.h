// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file body.h  What several clients are being sent at once: one copy in memory, with a count of
 * those who still need it. */
#pragma once

#include <stddef.h>

struct body {
    char *text; /* with a NUL behind it that is not counted */
    size_t size;
    int holders; /* atomic */
};

/** Takes @p text over, held once; also where it fails. NULL: out of memory. */
struct body *body_new(char *text, size_t size);

/** One holder more. From any thread. */
struct body *body_hold(struct body *body);

/** One holder less: the last one frees it. From any thread; NULL is allowed. */
void body_release(struct body *body);
