// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/trace/trace_reader.h"

#include "history/trace/trace_bytes.h"
#include "history/trace/trace_decode.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One block, as read from the file. */
struct block {
    uint32_t kind;
    size_t n;
    uint8_t *payload; /* for free() */
};

#define NO_MORE 1 /* the file ends before this block, or within it */

static int damaged(const struct trace_reader *reader, const char *what, struct error *error)
{
    return error_set(error, -EBADMSG, "%s: damaged at byte %" PRIu64 ": %s", reader->path,
                     reader->offset, what);
}

/* Returns 0, NO_MORE, or -EIO, because a read error is not the end of the trace. */
static int read_bytes(struct trace_reader *reader, void *bytes, size_t n, struct error *error)
{
    if (fread(bytes, 1, n, reader->file) == n)
        return 0;
    return ferror(reader->file) ? error_set(error, -EIO, "%s: it cannot be read at byte %" PRIu64,
                                            reader->path, reader->offset)
                                : NO_MORE;
}

static int read_payload(struct trace_reader *reader, const uint8_t *head, struct block *block,
                        struct error *error)
{
    int rc;

    block->payload = malloc(block->n ? block->n : 1);
    if (!block->payload)
        return error_set(error, -ENOMEM, "%s: out of memory", reader->path);
    rc = read_bytes(reader, block->payload, block->n, error);
    if (rc != 0)
        return rc;
    if (trace_crc(trace_crc(0, head, 8), block->payload, block->n) != trace_u32(head + 8))
        return damaged(reader, "the checksum differs", error);
    return 0;
}

/* Returns 0, NO_MORE, or an error. The caller frees the payload in any case. */
static int read_block(struct trace_reader *reader, struct block *block, struct error *error)
{
    uint8_t head[TRACE_BLOCK_HEAD_BYTES];
    const uint64_t left = reader->bytes - reader->offset;
    int rc;

    *block = (struct block){0};
    rc = left < sizeof(head) ? NO_MORE : read_bytes(reader, head, sizeof(head), error);
    if (rc != 0)
        return rc;
    block->kind = trace_u32(head);
    block->n = trace_u32(head + 4);
    /* After a power failure, a file system may show zeros instead of a block that was not yet on
     * the disk. */
    if (block->kind == 0 && block->n == 0)
        return NO_MORE;
    if (block->kind < TRACE_HEAD || block->kind > TRACE_END)
        return damaged(reader, "no such kind of block", error);
    if (block->n > TRACE_MAX_BLOCK_BYTES)
        return damaged(reader, "a block that is too long", error);
    if (block->n > left - sizeof(head))
        return NO_MORE;
    return read_payload(reader, head, block, error);
}

static int decode(struct trace_reader *reader, const struct block *block)
{
    struct trace_in in = {.at = block->payload, .end = block->payload + block->n};
    int rc = 0;

    if (block->kind == TRACE_HEAD)
        rc = trace_decode_head(&in, &reader->head);
    else if (block->kind == TRACE_LAYOUT)
        rc = trace_decode_layout(&in, &reader->layout);
    else if (block->kind == TRACE_PERIOD)
        rc = trace_decode_period(&in, &reader->head, &reader->layout, &reader->period);
    else
        rc = trace_decode_end(&in, &reader->end);
    return rc == 0 && trace_left(&in) > 0 ? -EBADMSG : rc;
}

static int take_block(struct trace_reader *reader, const struct block *block, struct error *error)
{
    static const char *const whats[] = {
        [TRACE_HEAD] = "not a valid head",
        [TRACE_LAYOUT] = "not a valid layout",
        [TRACE_PERIOD] = "not a valid period",
        [TRACE_END] = "not a valid end",
    };
    int rc = decode(reader, block);

    if (rc == -ENOMEM)
        return error_set(error, rc, "%s: out of memory", reader->path);
    if (rc < 0)
        return damaged(reader, whats[block->kind], error);
    if (block->kind == TRACE_END && reader->end.periods != reader->periods)
        return damaged(reader, "its end is of another number of periods", error);
    reader->offset += TRACE_BLOCK_HEAD_BYTES + block->n;
    reader->periods += block->kind == TRACE_PERIOD;
    return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int read_head(struct trace_reader *reader, struct error *error)
{
    uint8_t first[TRACE_MAGIC_BYTES + 4];
    struct block block = {0};

    int rc = read_bytes(reader, first, sizeof(first), error);

    if (rc < 0)
        return rc;
    if (rc == NO_MORE || memcmp(first, TRACE_MAGIC, TRACE_MAGIC_BYTES) != 0)
        return error_set(error, -EBADMSG, "%s: not a trace of vmwss", reader->path);
    if (trace_u32(first + TRACE_MAGIC_BYTES) != TRACE_VERSION)
        return error_set(error, -EBADMSG,
                         "%s: a trace of format version %" PRIu32 "; this vmwss reads version %d",
                         reader->path, trace_u32(first + TRACE_MAGIC_BYTES), TRACE_VERSION);
    reader->offset = sizeof(first);

    rc = read_block(reader, &block, error);
    if (rc == 0 && block.kind != TRACE_HEAD)
        rc = damaged(reader, "no head", error);
    if (rc == 0)
        rc = take_block(reader, &block, error);
    free(block.payload);
    return rc == NO_MORE ? damaged(reader, "it ends within the head", error) : rc;
}

int trace_reader_begin(struct trace_reader *reader, FILE *file, const char *path,
                       struct error *error)
{
    off_t bytes;

    *reader = (struct trace_reader){.file = file};
    snprintf(reader->path, sizeof(reader->path), "%s", path);
    if (fseeko(file, 0, SEEK_END) < 0 || (bytes = ftello(file)) < 0 ||
        fseeko(file, 0, SEEK_SET) < 0) {
        trace_reader_close(reader);
        return error_set(error, -EIO, "%s: not seekable", path);
    }
    reader->bytes = (uint64_t)bytes;

    int rc = read_head(reader, error);

    if (rc < 0)
        trace_reader_close(reader);
    return rc;
}

int trace_reader_open(struct trace_reader *reader, const char *path, struct error *error)
{
    /* O_NONBLOCK, because opening a FIFO would block */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;

    if (fd < 0)
        return error_set(error, -errno, "%s: %s", path, strerror(errno));

    FILE *file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(fd, "rb") : NULL;

    if (!file) {
        close(fd);
        return error_set(error, -EINVAL, "%s: not a regular file", path);
    }
    return trace_reader_begin(reader, file, path, error);
}

void trace_reader_close(struct trace_reader *reader)
{
    if (reader->file)
        fclose(reader->file);
    reader->file = NULL;
    trace_layout_free(&reader->layout);
    trace_period_free(&reader->period);
}

/* --- going on --------------------------------------------------------------------------------- */

int trace_reader_next(struct trace_reader *reader, struct error *error)
{
    static const enum trace_part parts[] = {
        [TRACE_LAYOUT] = TRACE_AT_LAYOUT,
        [TRACE_PERIOD] = TRACE_AT_PERIOD,
        [TRACE_END] = TRACE_AT_END,
    };
    struct block block;
    int rc = read_block(reader, &block, error);

    if (rc == 0 && block.kind == TRACE_HEAD)
        rc = damaged(reader, "a second head", error);
    if (rc == 0)
        rc = take_block(reader, &block, error);
    free(block.payload);
    if (rc == NO_MORE)
        return TRACE_AT_CUT;
    return rc < 0 ? rc : (int)parts[block.kind];
}
