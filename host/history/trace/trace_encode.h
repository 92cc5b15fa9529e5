// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file trace_encode.h  Encodes the parts of a trace as blocks of its file. */
#pragma once

#include "history/trace/trace.h"
#include "history/trace/trace_bytes.h"

/* Each function appends to @p out; if memory runs out, it sets out->failed. */

/** Writes the file's signature and version, and the first block. */
void trace_encode_head(struct trace_out *out, const struct trace_head *head);
void trace_encode_layout(struct trace_out *out, const struct trace_layout *layout);
void trace_encode_period(struct trace_out *out, const struct trace_period *period);
void trace_encode_end(struct trace_out *out, const struct trace_end *end);

/** Writes a block of any kind and payload. */
void trace_encode_block(struct trace_out *out, uint32_t kind, const void *payload, size_t n);
