// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/trace/trace_writer.h"

#include "base/page_sizes.h"
#include "base/write_all.h"
#include "history/trace/trace_encode.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Size of the largest possible end block. */
#define END_BYTES (TRACE_BLOCK_HEAD_BYTES + 2 + sizeof(((struct trace_end *)0)->reason) + 10)

static int failed(const struct trace_writer *writer, int rc, struct error *error)
{
    return error_set(error, rc, "%s: %s", writer->path, strerror(-rc));
}

/* Appends a block. If the disk has room for only part of it, the part is removed. */
static int append(struct trace_writer *writer, const struct trace_out *out, struct error *error)
{
    int rc = write_all(writer->fd, out->bytes, out->n);

    if (rc == 0) {
        writer->bytes += out->n;
        return 0;
    }
    if (ftruncate(writer->fd, (off_t)writer->bytes) < 0 ||
        lseek(writer->fd, (off_t)writer->bytes, SEEK_SET) < 0)
        writer->cut = true;
    return failed(writer, rc, error);
}

/* Reserves disk space for a block and for the end after it, so that the trace can be ended even on
 * a full disk. Not every file system supports this; then the write itself fails.
 */
static int reserve(const struct trace_writer *writer, size_t n)
{
    const off_t bytes = (off_t)(n + END_BYTES);

    if (fallocate(writer->fd, FALLOC_FL_KEEP_SIZE, (off_t)writer->bytes, bytes) == 0)
        return 0;
    return errno == ENOSPC || errno == EDQUOT ? -errno : 0;
}

static int append_reserved(struct trace_writer *writer, const struct trace_out *out,
                           struct error *error)
{
    int rc;

    if (out->failed)
        return error_set(error, -ENOMEM, "%s: out of memory, or a block of more than 1 GiB",
                         writer->path);
    if (writer->bytes + out->n + END_BYTES > writer->max_bytes)
        return error_set(error, -EFBIG,
                         "%s: the next block would exceed the limit of %" PRIu64 " bytes",
                         writer->path, writer->max_bytes);
    rc = reserve(writer, out->n);
    return rc < 0 ? failed(writer, rc, error) : append(writer, out, error);
}

/* Frees @p out. */
static int append_within(struct trace_writer *writer, struct trace_out *out, struct error *error)
{
    int rc = append_reserved(writer, out, error);

    free(out->bytes);
    return rc;
}

static void remove_file(struct trace_writer *writer)
{
    close(writer->fd);
    writer->fd = -1;
    unlink(writer->path);
}

int trace_writer_open(struct trace_writer *writer, const char *path, uint64_t max_bytes,
                      const struct trace_head *head, struct error *error)
{
    struct trace_out out = {0};

    *writer = (struct trace_writer){.path = path, .fd = -1, .max_bytes = max_bytes};
    if (base_page_bytes() != TRACE_PAGE_BYTES)
        return error_set(error, -ENOTSUP,
                         "%s: a trace has pages of 4 KiB, and this host's base pages have %" PRIu64
                         " KiB",
                         path, base_page_bytes() / 1024);
    /* O_EXCL: an existing trace may be hours of work. Mode 0600, like perf.data: the pages that a
     * guest touches, and the times, are private to those who run it. */
    writer->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (writer->fd < 0)
        return errno == EEXIST
                   ? error_set(error, -EEXIST,
                               "%s: the file exists: choose another name, or remove it", path)
                   : failed(writer, -errno, error);
    trace_encode_head(&out, head);

    int rc = append_within(writer, &out, error);

    if (rc < 0)
        remove_file(writer);
    return rc;
}

int trace_writer_layout(struct trace_writer *writer, const struct trace_layout *layout,
                        struct error *error)
{
    struct trace_out out = {0};

    trace_encode_layout(&out, layout);
    return append_within(writer, &out, error);
}

int trace_writer_period(struct trace_writer *writer, const struct trace_period *period,
                        struct error *error)
{
    struct trace_out out = {0};

    trace_encode_period(&out, period);

    int rc = append_within(writer, &out, error);

    writer->periods += rc == 0;
    return rc;
}

static int write_end(struct trace_writer *writer, const char *reason, struct error *error)
{
    struct trace_end end = {.periods = writer->periods};
    struct trace_out out = {0};

    snprintf(end.reason, sizeof(end.reason), "%s", reason);
    trace_encode_end(&out, &end);

    int rc = out.failed ? error_set(error, -ENOMEM, "%s: out of memory", writer->path)
                        : append(writer, &out, error);

    writer->cut |= rc < 0;
    if (rc == 0)
        (void)!ftruncate(writer->fd, (off_t)writer->bytes); /* frees the space reserved after it */
    free(out.bytes);
    return rc;
}

int trace_writer_end(struct trace_writer *writer, const char *reason, struct error *error)
{
    if (writer->fd < 0)
        return 0;
    if (writer->periods == 0) {
        remove_file(writer);
        return 0;
    }

    int rc = write_end(writer, reason, error);

    if (close(writer->fd) < 0 && rc == 0)
        rc = failed(writer, -errno, error);
    writer->fd = -1;
    return rc;
}
