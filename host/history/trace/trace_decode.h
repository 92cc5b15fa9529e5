// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace_decode.h  Decodes and checks the payloads of a trace's blocks, for trace_reader.c.
 *
 * Each function returns 0; -EBADMSG: the data ends early, or a value is impossible; -ENOMEM.
 */
#pragma once

#include "history/trace/trace.h"
#include "history/trace/trace_bytes.h"

int trace_decode_head(struct trace_in *in, struct trace_head *head);
/** Frees the old content of @p layout. */
int trace_decode_layout(struct trace_in *in, struct trace_layout *layout);
/** Decodes a period with the pages of @p layout; frees the old content of @p period. */
int trace_decode_period(struct trace_in *in, const struct trace_head *head,
                        const struct trace_layout *layout, struct trace_period *period);
int trace_decode_end(struct trace_in *in, struct trace_end *end);
