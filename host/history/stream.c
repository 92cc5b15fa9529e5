// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/stream.h"

#include "base/cleanup.h"
#include "history/kept_row.h"
#include "history/open_store.h"
#include "history/sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct stream {
    struct store *store;
    char *path;
    dev_t device; /* device and inode of the open file */
    ino_t inode;
    int64_t last_id;
};

static int last_id(struct store *store, int64_t *id, struct error *error)
{
    return sql_run_i64(store, "SELECT coalesce(max(id), 0) FROM sample", id, error);
}

/* Opens the file that is at the path now. */
static int open_file(struct stream *stream, struct error *error)
{
    struct stat st;
    int rc = history_open(stream->path, &stream->store, error);

    if (rc < 0)
        return rc;
    if (stat(stream->path, &st) < 0)
        return error_set(error, -errno, "%s: %s", stream->path, strerror(errno));
    stream->device = st.st_dev;
    stream->inode = st.st_ino;
    return 0;
}

static bool is_replaced(const struct stream *stream)
{
    struct stat st;

    return stat(stream->path, &st) == 0 &&
           (st.st_dev != stream->device || st.st_ino != stream->inode);
}

int stream_open(const char *path, struct stream **out, struct error *error)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    int rc;

    if (!stream || !(stream->path = strdup(path))) {
        free(stream);
        return error_set(error, -ENOMEM, "%s: out of memory", path);
    }
    rc = open_file(stream, error);
    if (rc == 0)
        rc = last_id(stream->store, &stream->last_id, error);
    if (rc < 0)
        stream_close(stream);
    else
        *out = stream;
    return rc;
}

void stream_close(struct stream *stream)
{
    if (!stream)
        return;
    store_close(stream->store);
    free(stream->path);
    free(stream);
}

struct store *stream_store(struct stream *stream)
{
    return stream->store;
}

/* Switches to a new file at the path; all its records are new. If it is still incomplete, the next
 * call opens it. */
static int follow_file(struct stream *stream, struct error *error)
{
    if (stream->store && !is_replaced(stream))
        return history_refresh(stream->store, error);
    store_close(stream->store);
    stream->store = NULL;
    stream->last_id = 0;

    int rc = open_file(stream, error);

    return rc == -ENOENT || rc == -EBUSY ? 0 : rc;
}

/* If a table becomes empty because all its rows were deleted, its ids restart at 1. */
static int follow_ids(struct stream *stream, struct error *error)
{
    int64_t last = 0;
    int rc = last_id(stream->store, &last, error);

    if (rc == 0 && last < stream->last_id)
        stream->last_id = 0;
    return rc;
}

static int read_records(struct stream *stream,
                        int (*see)(const struct kept_sample *sample, void *context), void *context,
                        struct error *error)
{
    cleanup_statement sqlite3_stmt *statement = NULL;
    cleanup_free struct kept_sample *kept = malloc(sizeof(*kept));
    struct store *store = stream->store;
    int rc;

    if (!kept)
        return sql_no_memory(store, error);
    rc = kept_row_prepare(store, "", KEPT_FROM " WHERE s.id > ? ORDER BY s.id", &statement, error);
    if (rc == 0)
        sqlite3_bind_int64(statement, 1, stream->last_id);
    while (rc == 0 && (rc = kept_row_next(store, statement, kept, error)) == 1) {
        stream->last_id = kept->id;
        rc = see(kept, context);
    }
    return rc;
}

int stream_next(struct stream *stream, int (*see)(const struct kept_sample *sample, void *context),
                void *context, struct error *error)
{
    int rc = follow_file(stream, error);

    if (rc < 0 || !stream->store)
        return rc;
    rc = follow_ids(stream, error);
    if (rc == 0)
        rc = read_records(stream, see, context, error);
    return rc == 0 ? history_refresh(stream->store, error) : rc;
}
