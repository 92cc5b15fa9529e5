// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace_writer.h  Writes a trace into a file of limited size.
 *
 * Each block is written by one write(2). A block that would exceed the limit or the disk is left
 * out as a whole, and the trace ends before it.
 */
#pragma once

#include "base/error.h"
#include "history/trace/trace.h"

struct trace_writer {
    const char *path; /* borrowed */
    int fd;           /* -1: closed */
    uint64_t max_bytes, bytes;
    uint64_t periods;
    /* the end could not be written to the disk: the file can be read up to its last period */
    bool cut;
};

/** Makes the file, which must not exist. Returns 0: end it; -EEXIST and other errors of the file
 * system; -ENOTSUP: this host's base pages do not have the size of a trace's (TRACE_PAGE_BYTES). */
int trace_writer_open(struct trace_writer *writer, const char *path, uint64_t max_bytes,
                      const struct trace_head *head, struct error *error);

/** Returns 0; -EFBIG: the block would exceed the limit, and was not written; or an error of the
 * file system, also without having written it. */
int trace_writer_layout(struct trace_writer *writer, const struct trace_layout *layout,
                        struct error *error);
int trace_writer_period(struct trace_writer *writer, const struct trace_period *period,
                        struct error *error);

/** Ends the trace and closes the file; a trace without a period is removed. Returns 0, or the file
 * system's error: writer->cut if the file has no end. */
int trace_writer_end(struct trace_writer *writer, const char *reason, struct error *error);
