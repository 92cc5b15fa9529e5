// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace_reader.h  Reads a trace part by part. It is the only parser of these files, and does
 * not trust their content.
 *
 * For any content, it allocates at most some twelve times the size of the file.
 */
#pragma once

#include "base/error.h"
#include "history/trace/trace.h"

#include <stdio.h>

enum trace_part {
    TRACE_AT_LAYOUT, /* reader->layout is new from here on */
    TRACE_AT_PERIOD, /* reader->period is the next period */
    TRACE_AT_END,    /* the trace has a proper end: reader->end */
    TRACE_AT_CUT,    /* the trace has no end: nothing, or part of a block, follows */
};

struct trace_reader {
    char path[256]; /* for messages */
    FILE *file;
    uint64_t bytes, offset; /* size of the file when it was opened, and the current offset */
    struct trace_head head;
    struct trace_layout layout;
    struct trace_period period;
    struct trace_end end;
    uint64_t periods; /* periods read so far */
};

/** Opens a regular file, and reads its head.
 *  @return 0, close it with trace_reader_close(); -EBADMSG: not a trace, another version, or
 *          damaged (the message says where); -EINVAL: not a regular file; or the file system's
 *          error */
int trace_reader_open(struct trace_reader *reader, const char *path, struct error *error);

/** As trace_reader_open(), for a seekable stream, which is closed with the reader, or on
 * failure. */
int trace_reader_begin(struct trace_reader *reader, FILE *file, const char *path,
                       struct error *error);

/** @return an enum trace_part; -EBADMSG as above, -ENOMEM, -EIO. After TRACE_AT_END, TRACE_AT_CUT
 *         or an error there are no further parts. */
int trace_reader_next(struct trace_reader *reader, struct error *error);

void trace_reader_close(struct trace_reader *reader);
