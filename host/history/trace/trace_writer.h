// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace_writer.h  Writes a trace into a file of limited size.
 *
 * Each block is written by one write(2). A block that does not fit, below the limit or on the disk,
 * is left out as a whole, and the trace is ended before it.
 */
#pragma once

#include "base/error.h"
#include "history/trace/trace.h"

struct trace_writer {
    const char *path; /* borrowed */
    int fd;           /* -1: closed */
    uint64_t max_bytes, bytes;
    uint64_t periods;
    bool cut; /* the disk did not take the end: the file is read up to its last period */
};

/** Makes the file, which must not exist. 0, to be ended; -EEXIST and others of the file system;
 * -ENOTSUP: this host's base pages are not a trace's (TRACE_PAGE_BYTES). */
int trace_writer_open(struct trace_writer *writer, const char *path, uint64_t max_bytes,
                      const struct trace_head *head, struct error *error);

/** 0; -EFBIG: it does not fit below the limit, and was not written; else the file system's error:
 * it was not written either. */
int trace_writer_layout(struct trace_writer *writer, const struct trace_layout *layout,
                        struct error *error);
int trace_writer_period(struct trace_writer *writer, const struct trace_period *period,
                        struct error *error);

/** Ends the trace and closes the file; one without a period is removed. 0, or the file system's
 * error: writer->cut if no end is in it. */
int trace_writer_end(struct trace_writer *writer, const char *reason, struct error *error);
