// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file inbox.h  Splits bytes into lines, in bounded memory: a line that is too long is discarded
 * up to its newline. */
#pragma once

#include "base/wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct inbox {
    char text[WIRE_LINE_MAX]; /* bytes read, but not yet taken */
    size_t length;
    size_t taken;  /* the prefix that inbox_line() has taken */
    bool skipping; /* discarding the rest of a line that was too long */
};

/** Discards everything, for use when another sender takes over. */
void inbox_reset(struct inbox *inbox);

/** Reads once from a non-blocking @p fd; call it when inbox_line() has no more lines. Returns the
 * bytes read, 0 at the end of the stream, or a negative errno. */
ssize_t inbox_fill(struct inbox *inbox, int fd);

/** Sets *line to the next whole line, without its newline; it stays valid until inbox_fill().
 * Returns false if there is no whole line. */
bool inbox_line(struct inbox *inbox, const char **line, size_t *length);
