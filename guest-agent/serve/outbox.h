// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file outbox.h  Sends one line without waiting: data that the reader does not take remains, and
 * nothing is queued behind it. A line that was begun is completed. If it was cut, the next line
 * begins with a newline, so that the reader finds its beginning.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct outbox {
    char *line; /* with its newline; NULL: the outbox is free */
    size_t length, written;
    bool cut; /* the last line was cut */
};

/** Puts @p message (which may be NULL) into a free outbox. 0, -ENOMEM, or -EMSGSIZE above
 * WIRE_LINE_MAX. */
int outbox_put(struct outbox *outbox, json_t *message);

/** Writes as much as the non-blocking @p fd takes. 0: all is written; -EAGAIN: not yet; or another
 * negative errno. */
int outbox_write(struct outbox *outbox, int fd);

/** Drops the line because its reader is gone. */
void outbox_drop(struct outbox *outbox);
