// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file stream.h  A connection in memory: a target whose parser reads from a descriptor gives it
 * STREAM_FD, and is linked with --wrap of the calls below. Several system calls for each piece cost
 * ten times as much as the parser.
 */
#pragma once

#include "fuzz.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define STREAM_FD 1000000 /* the kernel has no such descriptor */

static struct {
    uint8_t data[1 << 16]; /* sent by the other end, and not yet read */
    size_t from, to;
    bool ended;  /* closed by the other end */
    size_t room; /* in bytes: what send() takes before the other end reads */
} stream;

static inline void stream_begin(size_t room)
{
    stream.from = stream.to = 0;
    stream.ended = false;
    stream.room = room;
}

/* The other end sends; what does not fit is lost, as if it were never sent. */
static inline void stream_put(const uint8_t *data, size_t size)
{
    memmove(stream.data, stream.data + stream.from, stream.to - stream.from);
    stream.to -= stream.from;
    stream.from = 0;
    size = size < sizeof(stream.data) - stream.to ? size : sizeof(stream.data) - stream.to;
    memcpy(stream.data + stream.to, data, size);
    stream.to += size;
}

ssize_t __real_read(int fd, void *data, size_t size);
ssize_t __wrap_read(int fd, void *data, size_t size);

/* As a non-blocking socket, or a pipe. */
ssize_t __wrap_read(int fd, void *data, size_t size)
{
    const size_t there = stream.to - stream.from;

    if (fd != STREAM_FD)
        return __real_read(fd, data, size);
    if (there == 0 && !stream.ended) {
        errno = EAGAIN;
        return -1;
    }
    size = size < there ? size : there;
    memcpy(data, stream.data + stream.from, size);
    stream.from += size;
    return (ssize_t)size;
}
