// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file inbox.h  Lines out of bytes, in bounded memory: a line that is too long is thrown away up
 * to its newline. */
#pragma once

#include "base/wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct inbox {
    char text[WIRE_LINE_MAX]; /* what was read and not yet taken */
    size_t length;
    size_t taken;  /* of it, by inbox_line() */
    bool skipping; /* within a line that was too long */
};

/** Forgets everything: another writer begins. */
void inbox_reset(struct inbox *inbox);

/** Reads once from a non-blocking @p fd; call when inbox_line() has no more. Bytes read, 0 at the
 * end of the stream, or a negative errno. */
ssize_t inbox_fill(struct inbox *inbox, int fd);

/** The next whole line, without its newline; *line stays valid until inbox_fill(). False when there
 * is none. */
bool inbox_line(struct inbox *inbox, const char **line, size_t *length);
