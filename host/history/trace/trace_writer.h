// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace_writer.h  Writes a trace into a file of limited size.
 *
 * Each block is written by one write(2). A block that does not fit within the limit or on the disk
 * is not written at all, and the trace ends before it.
 */
#pragma once

#include "base/error.h"
#include "history/trace/trace.h"

struct trace_writer {
    const char *path; /* borrowed */
    int fd;           /* -1: closed */
    uint64_t max_bytes, bytes;
    uint64_t periods;
    /* the end could not be written to the disk: the file is readable up to its last period */
    bool cut;
};

/** Creates the file, which must not exist. Returns 0, then call trace_writer_end(); -EEXIST and
 * other errors of the file system; -ENOTSUP: this host's base pages do not have the size of a
 * trace's (TRACE_PAGE_BYTES). */
int trace_writer_open(struct trace_writer *writer, const char *path, uint64_t max_bytes,
                      const struct trace_head *head, struct error *error);

/** Writes a layout. Returns 0; -EFBIG: the block would exceed the limit; or an error of the file
 * system. After an error the block is not written. */
int trace_writer_layout(struct trace_writer *writer, const struct trace_layout *layout,
                        struct error *error);
int trace_writer_period(struct trace_writer *writer, const struct trace_period *period,
                        struct error *error);

/** Ends the trace and closes the file; removes a trace without a period. Returns 0, or the file
 * system's error; writer->cut is set if the file has no end. */
int trace_writer_end(struct trace_writer *writer, const char *reason, struct error *error);
