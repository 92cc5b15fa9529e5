// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file inbox.h  Splits bytes into lines, in bounded memory: a line that is too long is discarded
 * up to its newline. */
#pragma once

#include "base/wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct inbox {
    char text[WIRE_LINE_MAX]; /* bytes that were read and not yet taken */
    size_t length;
    size_t taken;  /* the part that inbox_line() has taken */
    bool skipping; /* inside a line that was too long */
};

/** Discards everything, because another writer begins. */
void inbox_reset(struct inbox *inbox);

/** Reads once from a non-blocking @p fd; call it when inbox_line() has no more lines. Returns the
 * bytes read, 0 at the end of the stream, or a negative errno. */
ssize_t inbox_fill(struct inbox *inbox, int fd);

/** The next whole line, without its newline; *line stays valid until inbox_fill(). False if there
 * is no whole line. */
bool inbox_line(struct inbox *inbox, const char **line, size_t *length);
