// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file stream.h  Streams the records of a history as they are added.
 *
 * Between two calls no lock is held, so the writer can truncate its WAL. If the daemon quarantines
 * a damaged file and begins another, the stream continues with the new one.
 */
#pragma once

#include "history/history.h"

struct stream; /* opaque */

/** Opens a stream that begins with the records added from now on. Errors as history_open(). */
int stream_open(const char *path, struct stream **stream, struct error *error);
void stream_close(struct stream *stream);

/** Returns the store for history_latest() and similar functions. It is valid until the next call of
 * a function below. */
struct store *stream_store(struct stream *stream);

/** Calls @p see with each record added since the last call, in the order of adding. If @p see
 * returns nonzero, the walk ends and returns that value. */
int stream_next(struct stream *stream, int (*see)(const struct kept_sample *sample, void *context),
                void *context, struct error *error);
