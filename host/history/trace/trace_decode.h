// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file trace_decode.h  The payloads of a trace's blocks, each value checked. For trace_reader.c.
 *
 * Each returns 0; -EBADMSG: there is too little, or a value that cannot be; -ENOMEM.
 */
#pragma once

#include "history/trace/trace.h"
#include "history/trace/trace_bytes.h"

int trace_decode_head(struct trace_in *in, struct trace_head *head);
/** What @p layout held before is freed. */
int trace_decode_layout(struct trace_in *in, struct trace_layout *layout);
/** Of a period whose pages are those of @p layout; what @p period held before is freed. */
int trace_decode_period(struct trace_in *in, const struct trace_head *head,
                        const struct trace_layout *layout, struct trace_period *period);
int trace_decode_end(struct trace_in *in, struct trace_end *end);
