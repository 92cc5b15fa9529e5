// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file outbox.h  One line on its way out. Never waits: what the reader does not take stays, and
 * nothing is queued behind it. A line that was begun is finished; after one that was cut off the
 * next begins with a newline, so that the reader finds the beginning.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct outbox {
    char *line; /* with its newline; NULL: free */
    size_t length, written;
    bool cut; /* the last line was left unfinished */
};

/** Returns true if a line can be put. */
bool outbox_free(const struct outbox *outbox);

/** Takes @p message (which may be NULL) into a free outbox. 0, -ENOMEM, or -EMSGSIZE above
 * WIRE_LINE_MAX. */
int outbox_put(struct outbox *outbox, json_t *message);

/** Writes what a non-blocking @p fd takes. 0: all is written, -EAGAIN: not yet, or another negative
 * errno. */
int outbox_write(struct outbox *outbox, int fd);

/** Drops the line: its reader is gone. */
void outbox_drop(struct outbox *outbox);
