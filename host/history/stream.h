// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file stream.h  The records that are being added to a history, as they come.
 *
 * Between two calls nothing is held: the writer can cut its WAL. If the daemon sets a damaged file
 * aside and begins another, the stream goes on with that.
 */
#pragma once

#include "history/history.h"

struct stream; /* opaque */

/** Begins with what is added from now on. Errors as history_open(). */
int stream_open(const char *path, struct stream **stream, struct error *error);
void stream_close(struct stream *stream);

/** For history_latest() and the like; valid until the next call of a function below. */
struct store *stream_store(struct stream *stream);

/** Calls @p see with each record that was added since the last call, in the order in which they
 * were; what it returns, if not 0, ends the walk and is returned. */
int stream_next(struct stream *stream, int (*see)(const struct kept_sample *sample, void *context),
                void *context, struct error *error);
